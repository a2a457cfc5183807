"""The examples of docs/CLIENTS.md."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from .conftest import ROOT, Service


async def run_example(module: str, service: Service, app: str, **surroundings: Any) -> dict[str, Any]:
    """Runs the example that imports a module, with the names that it takes for granted; returns all names."""
    page = (ROOT / "docs" / "CLIENTS.md").read_text()
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if f"from {module} import" in each]
    code = code.replace("http://127.0.0.1:8080", service.url).replace("acme_corp", app)
    running = eval(compile(code, module, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), surroundings)
    if inspect.isawaitable(running):
        await running
    return surroundings
