"""The example of the README does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Service


def test_the_example_runs(service: Service, app: str, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    example = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(example) == 1
    exec(example[0].replace("http://127.0.0.1:8080", service.url).replace("acme_corp", app), {})
    assert capsys.readouterr().out.splitlines() == ["Hello", "Hello, where to?"]
