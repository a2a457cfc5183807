"""docs/ABUSE.md names every test of this directory, and no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from service import ROOT

HERE = Path(__file__).parent
CODE = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("crates/*/tests/**/*.rs"), *ROOT.glob("tests/**/*.rs")]


def rows() -> list[list[str]]:
    """The cells of the table rows that have a column of tests."""
    lines = (ROOT / "docs/ABUSE.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "abuse" and not row[0].startswith("---")]


def named() -> set[str]:
    return {name for row in rows() for name in re.findall(r"`(\w+)`", row[2])}


def defined() -> set[str]:
    return {name for file in HERE.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}


def test_every_row_has_an_answer_and_a_test() -> None:
    assert len(rows()) > 75
    for row in rows():
        assert len(row) == 3 and all(row), row
        assert "`" in row[2], row


def test_every_named_test_is_there() -> None:
    python = {name for name in named() if name.startswith("test_")}
    assert python - defined() == set()
    rust = named() - python
    found = {name for file in CODE for name in re.findall(r"\bfn (\w+)", file.read_text())}
    assert rust - found == set()


def test_every_test_is_named(request: pytest.FixtureRequest) -> None:
    assert defined() - named() == set()
    # What is named was collected, too, if all was.
    collected = {item.originalname for item in request.session.items if isinstance(item, pytest.Function)}
    if {Path(item.path).name for item in request.session.items} == {file.name for file in HERE.glob("test_*.py")}:
        assert defined() == collected
