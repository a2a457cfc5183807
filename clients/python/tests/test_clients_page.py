"""The examples of docs/CLIENTS.md for the stores of chats run."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest
from autogen import ConversableAgent  # pyright: ignore[reportMissingTypeStubs]  # AG2 has types, and does not say so.
from pydantic_ai.models.test import TestModel

from reprise import Reprise

from .conftest import ROOT, Service
from .test_openai_agents import Scripted, message

PAGE = (ROOT / "docs" / "CLIENTS.md").read_text()
EXAMPLES = {
    name: code
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for name in re.findall(r"from reprise\.(\S+)", code)
}


def speaker(name: str, text: str | None) -> ConversableAgent:
    return ConversableAgent(name, llm_config=False, human_input_mode="NEVER", default_auto_reply=text or "")


def surroundings(name: str) -> dict[str, Any]:
    """What an example takes for granted."""
    if name == "stores.openai_agents":
        model = Scripted()
        model.script = [[message("Hi.")]]
        return {"model": model}
    if name == "stores.pydantic_ai":
        return {"model": TestModel()}
    if name == "ag2":
        agents = {name: speaker(name, "Snow melts. TERMINATE") for name in ("user", "writer", "critic")}
        return {**agents, "llm_config": False}
    return {}


@pytest.mark.parametrize(
    ("name", "stored"),
    [("stores.openai_agents", 2), ("stores.langchain", 1), ("stores.pydantic_ai", 2), ("ag2", 4), ("aiohttp", 0)],
)
async def test_the_example_runs(service: Service, app: str, name: str, stored: int) -> None:
    code = EXAMPLES[name].replace("http://127.0.0.1:8080", service.url).replace("acme_corp", app)
    # Ids of chats are unique among the apps of a service.
    code = (
        code.replace("user-123", app)
        .replace("haiku-1", app)
        .replace("max_round=100", "max_round=4, speaker_selection_method='round_robin'")
    )
    running = eval(compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), surroundings(name))
    if inspect.isawaitable(running):
        await running
    with Reprise(service.url, app) as client:
        (chat,) = client.chats()
        assert len(list(client.chat(chat.chat_id).messages())) == stored
