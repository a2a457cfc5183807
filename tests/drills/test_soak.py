"""A short soak finds what is planted, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).with_name("soak.py")


def run_soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SOAK, "--minutes", "0.4", "--strike-sec", "12", "--sample-sec", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_a_short_soak_finds_nothing() -> None:
    said = run_soak()
    assert said.returncode == 0, said.stdout[-4000:] + said.stderr[-2000:]
    assert "Nothing is wrong." in said.stdout


@pytest.mark.parametrize(
    ("plant", "wanted"),
    [("lose", ["acknowledged and lost: talk-0-"]), ("tamper", ["another text: talk-0-", "`reprise check --deep` ends with 1"])],
)
def test_a_soak_finds_what_is_planted(plant: str, wanted: list[str]) -> None:
    said = run_soak("--plant", plant)
    assert said.returncode == 1, said.stdout[-4000:] + said.stderr[-2000:]
    for text in wanted:
        assert text in said.stdout, said.stdout[-4000:]
