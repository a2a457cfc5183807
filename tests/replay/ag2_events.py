"""The events of a conversation, as AG2 1.x keeps them."""

import asyncio
import json

from ag2 import Agent, MemoryStream, ToolResult, tool
from ag2.events import (
    BinaryInput, BinaryResult, BinaryType, DataInput, ModelMessage, ModelResponse, TextInput, ToolCallEvent,
    ToolCallsEvent, UrlInput, Usage,
)
from ag2.events._serialization import serialize_value
from ag2.testing import TestConfig


@tool
def weather(city: str = "Oslo") -> str:
    """The weather of a city."""
    if city == "Nowhere":
        raise ValueError("no such city")
    return f"clear in {city}"


@tool
def camera() -> ToolResult:
    """A picture of the harbour."""
    picture = BinaryInput(b"picture", media_type="image/png", kind=BinaryType.IMAGE)
    return ToolResult("the harbour", picture, metadata={"camera": 1})


def events_of_agents() -> list[dict]:
    """Runs an agent with a scripted model, and returns its events."""

    def answer(text: str | None, calls: list[ToolCallEvent] = [], **fields: object) -> ModelResponse:
        message = ModelMessage(text, metadata={"citations": ["harbour.example"]}) if text else None
        return ModelResponse(message, tool_calls=ToolCallsEvent(calls), **fields)

    usage = Usage(prompt_tokens=3, completion_tokens=2)
    about = {"usage": usage, "model": "script", "provider": "test", "finish_reason": "stop", "response_id": "r1"}
    calls = [
        ToolCallEvent("weather", id="call_1", arguments='{"city": "Oslo"}', vendor_metadata={"caller": "direct"}),
        ToolCallEvent("weather", id="call_2", arguments='{"city": "Nowhere"}'),
        ToolCallEvent("camera", id="call_3", arguments=""),
        ToolCallEvent("riddle", id="call_4", arguments="{}"),
    ]
    drawing = BinaryResult(b"drawing", metadata={"filename": "map.png"})
    # Calls that run at the same time end in any order.
    steps = [answer(None, [call], **about) for call in calls[1:]]
    conversation = [
        ([TextInput("Where is it sunny?", metadata={"shown": True})], [
            answer("Let me see.", calls[:1], **about), *steps, answer("It is clear.", **about),
        ]),
        ([
            "What is this?",
            UrlInput("https://example.org/harbour.png", kind=BinaryType.IMAGE),
            UrlInput("https://example.org/tour.mp4", kind=BinaryType.VIDEO),
            BinaryInput(
                b"ticket", media_type="application/pdf", kind=BinaryType.DOCUMENT,
                vendor_metadata={"filename": "ticket.pdf"},
            ),
            BinaryInput(b"tour", media_type="video/mp4", kind=BinaryType.VIDEO),
            DataInput({"seat": 7}),
        ], [answer("A ticket.", files=[drawing])]),
    ]

    async def run() -> list:
        stream = MemoryStream()
        for prompt, script in conversation:
            config = TestConfig(*script, raise_tool_errors=False)
            agent = Agent("planner", config=config, tools=[weather, camera])
            await agent.ask(*prompt, stream=stream)
        return list(await stream.history.get_events())

    return without_times(json.loads(json.dumps(serialize_value(asyncio.run(run())))))


def without_times(value: object) -> object:
    """Removes what differs from run to run: times, and the paths of files where an error was raised."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "created_at"}
    if isinstance(value, str) and "Traceback (" in value:
        return value.splitlines()[-1]
    return [without_times(item) for item in value] if isinstance(value, list) else value
