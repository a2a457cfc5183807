"""Frameworks are imported by their stores alone."""

from __future__ import annotations

import subprocess
import sys

FRAMEWORKS = (
    "ag2",
    "agents",
    "aiohttp",
    "autogen",
    "claude_agent_sdk",
    "google.adk",
    "langchain_core",
    "langgraph",
    "pydantic_ai",
)


def test_the_package_imports_no_framework() -> None:
    code = f"import sys, reprise, reprise.mozaiks, reprise.stores; print([it for it in {FRAMEWORKS} if it in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
