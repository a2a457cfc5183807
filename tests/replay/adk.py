#!/usr/bin/env python3
# environment: adk
"""Loads the renderings in `google-adk` with Google's Agent Development Kit.

    python adk.py DIRECTORY
    python adk.py --write

It needs an older `google-genai` than the other libraries, and so an environment of its own. No model is
called: a script answers. As in `typed.py`, the fixture is compared with what the library writes, or replaced.
"""

import asyncio
import copy
import itertools
import logging
import sys
import warnings
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

warnings.simplefilter("ignore")

from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.flows.llm_flows.contents import _contains_empty_content, _get_contents
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.platform import time, uuid
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import LongRunningFunctionTool, ToolContext
from google.genai.types import Blob, Content, FileData, FunctionCall, FunctionResponse, Part
from google.genai.types import GenerateContentResponseUsageMetadata as Usage

from renderings import contains, each, written

CHAT = {"app_name": "app", "user_id": "person", "session_id": "chat"}


class Script(BaseLlm):
    """A model that gives the next answer of a script."""

    answers: list
    requests: list = []

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator:
        self.requests.append(llm_request)
        yield self.answers.pop(0)


def dumped(events: list[Event]) -> list[dict]:
    return [event.model_dump(by_alias=True, exclude_none=True, mode="json") for event in events]


def load(events: list[dict], system: list) -> None:
    held = [Event.model_validate(event) for event in events]
    contains(dumped(held), url_safe(events))
    contains(dumped(asyncio.run(stored(held)).events), url_safe(events))
    # An agent is given its own events as they are, and those of other agents as a text.
    visible = [event for event in held if not _contains_empty_content(event)]
    for agent in {event.author for event in visible}:
        contents = _get_contents(None, held, agent, preserve_function_call_ids=True)
        built = Counter(str(part) for content in contents for part in content.parts)
        given = Counter(str(part) for event in visible if event.author == agent for part in event.content.parts)
        assert given <= built, f"{agent} is not given {(given - built).popitem()}"
    asyncio.run(continued(held, system))


def url_safe(events: list[dict]) -> list[dict]:
    """Returns the events with what the library writes for bytes, which it reads in both alphabets of base64."""
    events = copy.deepcopy(events)
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    of_results = [part for result in results for part in result.get("parts", [])]
    bytes_in = [(part, "thoughtSignature") for part in parts]
    bytes_in += [(part.get("inlineData", {}), "data") for part in parts + of_results]
    for holder, field in bytes_in:
        if field in holder:
            holder[field] = holder[field].replace("+", "-").replace("/", "_")
    return events


async def stored(events: list[Event]) -> Session:
    service = InMemorySessionService()
    session = await service.create_session(**CHAT)
    for event in events:
        await service.append_event(session, event)
    stored = await service.get_session(**CHAT)
    assert len(stored.events) == len(events), "an event is not stored"
    return stored


async def continued(events: list[Event], system: list) -> None:
    """Runs an agent after the events, and checks that its model is told everything that was said."""
    service = InMemorySessionService()
    session = await service.create_session(**CHAT)
    for event in events:
        await service.append_event(session, event)
    model = Script(model="script", answers=[LlmResponse(content=Content(role="model", parts=[Part(text="Yes.")]))])
    # The braces of a plain instruction are names of the state.
    agent = LlmAgent(name="assistant", model=model, instruction=lambda context: "\n".join(system))
    await said(Runner(agent=agent, app_name="app", session_service=service), Part(text="Go on."))
    request = model.requests[0]
    told = "\n".join(part.text or "" for content in request.contents for part in content.parts)
    for event in events:
        for part in event.content.parts if event.content else []:
            assert part.thought or not part.text or part.text in told, f"the model is not told {part.text!r}"
    for text in system:
        assert text in request.config.system_instruction, f"the model is not instructed {text!r}"
    assert told.endswith("Go on.")


async def said(runner: Runner, *parts: Part, **options: object) -> None:
    message = Content(role="user", parts=list(parts))
    async for _ in runner.run_async(user_id="person", session_id="chat", new_message=message, **options):
        pass


def answer(*parts: Part, **fields: object) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=list(parts)), **fields)


def call(name: str, id: str | None = None, signature: bytes | None = None, **arguments: object) -> Part:
    return Part(function_call=FunctionCall(id=id, name=name, args=arguments), thought_signature=signature)


def weather(city: str, tool_context: ToolContext) -> dict:
    """Returns the weather."""
    tool_context.state["city"] = city
    return {"error": "no such city"} if city == "Nowhere" else {"sky": "clear", "wind": [1, 2.5]}


def clock() -> str:
    """Returns the time."""
    return "noon"


async def session_of_agents() -> list[dict]:
    """Runs two agents with scripted models, and returns the events that their session stores."""
    numbers = itertools.count(1)
    uuid.set_id_provider(lambda: f"id-{next(numbers)}")
    time.set_time_provider(lambda: 1767225600.5)
    usage = Usage(prompt_token_count=3, total_token_count=5)
    code = Part.from_executable_code(code="1 + 1", language="PYTHON")
    outcome = Part.from_code_execution_result(outcome="OUTCOME_OK", output="2")
    of_host = [
        answer(
            Part(text="Which one?", thought=True), Part(text="Let me see."),
            call("weather", signature=b"\xfb\xff", city="Oslo"), Part(text="And there."),
            call("weather", "call_2", city="Nowhere"), call("clock"),
            usage_metadata=usage, finish_reason="STOP", model_version="script-1", avg_logprobs=-0.5,
        ),
        answer(Part(text="hm", thought=True, thought_signature=b"\xfb\xff"), call("transfer_to_agent", agent_name="guide")),
    ]
    of_guide = [
        answer(Part(text="It is sunny.", thought_signature=b"\xfb"), Part(text="", thought_signature=b"\xff\xfe\xfd")),
        answer(Part(text="Two pictures."), Part(inline_data=Blob(data=b"\xfb\xff\xfe", mime_type="image/png"))),
        answer(Part(text="I count."), code, outcome, Part(text="Two.")),
        LlmResponse(error_code="SAFETY", error_message="It was blocked."),
        answer(Part(text="Nothing but a thought.", thought=True)),
        answer(call("approve", "call_9", cost=3)),
        answer(call("approve", "call_10", cost=4)),
    ]
    guide = LlmAgent(
        name="guide", model=Script(model="guide", answers=of_guide), output_key="said",
        tools=[LongRunningFunctionTool(lambda cost: None)],
    )
    guide.tools[0].name = "approve"
    host = LlmAgent(
        name="host", model=Script(model="host", answers=of_host), instruction="Be brief.",
        tools=[weather, clock], sub_agents=[guide],
    )
    service = InMemorySessionService()
    session = await service.create_session(**CHAT)
    runner = Runner(agent=host, app_name="app", session_service=service)
    await said(runner, Part(text="Where is it sunny?"))
    media = [
        Part(inline_data=Blob(data=b"sound", mime_type="audio/mpeg")),
        Part(inline_data=Blob(data=b"ticket", mime_type="application/pdf", display_name="ticket.pdf")),
        Part(file_data=FileData(file_uri="https://example.org/harbour.png", mime_type="image/png")),
        Part(file_data=FileData(file_uri="gs://bucket/tour.mp4", mime_type="video/mp4", display_name="tour")),
    ]
    await said(runner, Part(text="What is this?"), *media, state_delta={"seen": None, "user:seen": 4})
    await said(runner, Part(text="Count."))
    await said(runner, Part(text="Do harm."))
    await said(runner, Part(text="Think."))
    await said(runner, Part(text="Ask."))
    approval = FunctionResponse(id="call_9", name="approve", response={"result": {"approved": True}})
    session = await service.get_session(**CHAT)
    events = [
        Event(author="user", content=Content(role="user", parts=[Part(function_response=approval)])),
        Event(author="guide", branch="host.guide", actions=EventActions(state_delta={"step": 2}, escalate=True)),
        Event(author="guide", content=Content(role="model", parts=[]), custom_metadata={"a": [None]}, interrupted=True),
    ]
    for event in events:
        await service.append_event(session, event)
    await said(runner, Part(text="Ask again."))
    return dumped((await service.get_session(**CHAT)).events)


if __name__ == "__main__":
    logging.disable()
    written("google-adk", [asyncio.run(session_of_agents())])
    if sys.argv[1] != "--write":
        uuid.reset_id_provider()
        time.reset_time_provider()
        each(Path(sys.argv[1]), "google-adk", "session, contents and a run of google-adk", load)
