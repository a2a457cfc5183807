#!/usr/bin/env python3
# environment: litellm
"""Sends the renderings in `bedrock-converse` with botocore, as far as the body of the request.

    python bedrock.py DIRECTORY
    python bedrock.py --write

Nothing is sent: a script answers in place of the service. As in `typed.py`, the fixture is compared with the
messages that botocore writes, or replaced.
"""

import base64
import json
import sys
from copy import deepcopy
from pathlib import Path

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.session import Session

from renderings import contains, each, written

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = {"toolSpec": {"name": "any", "inputSchema": {"json": {"type": "object"}}}}


class Body:
    """The body of an answer, as botocore reads it."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, *_: object, **__: object) -> list[bytes]:
        return [self.content]


class Service:
    """Gives the answers of a script, and keeps the body of each request."""

    def __init__(self, answers: list[list[dict]]) -> None:
        self.answers = answers
        self.requests = []
        session = Session()
        session.set_credentials("key", "secret")
        config = Config(region_name="eu-central-1", retries={"max_attempts": 0})
        self.client = session.create_client("bedrock-runtime", config=config)
        self.client.meta.events.register("before-send.bedrock-runtime.Converse", self.answer)

    def answer(self, request: object, **_: object) -> AWSResponse:
        self.requests.append(json.loads(request.body))
        answer = {
            "output": {"message": {"role": "assistant", "content": self.answers.pop(0)}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }
        headers = {"content-type": "application/json"}
        return AWSResponse(request.url, 200, headers, Body(json.dumps(answer).encode()))

    def converse(self, messages: list[dict], system: list[dict] | None = None) -> dict:
        options = {"system": system} if system else {}
        tools = {"tools": [TOOL]}
        return self.client.converse(modelId=MODEL, messages=messages, toolConfig=tools, **options)["output"]["message"]


def load(messages: list[dict], system: list[dict]) -> None:
    """Checks that botocore accepts the messages, and that the body of its request has all of them."""
    service = Service([[{"text": "Yes."}]])
    service.converse(decoded(messages), decoded(system))
    contains(service.requests[0]["messages"], messages)
    contains(messages, service.requests[0]["messages"])
    contains(service.requests[0].get("system", []), system)


def decoded(value: object, field: str = "") -> object:
    """Returns the value with bytes in place of base64, but for what is the caller's."""
    if isinstance(value, dict):
        return {key: item if key in ("input", "json") else decoded(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return base64.b64decode(value, validate=True) if field in ("bytes", "redactedContent") else value


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def conversation() -> list[dict]:
    """Holds a conversation with a script, and returns the messages of its last request."""
    citation = {
        "title": "harbour", "sourceContent": [{"text": "It opens at nine."}],
        "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 17}},
    }
    service = Service([
        [
            {"reasoningContent": {"reasoningText": {"text": "Which one?", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": encoded(b"\xfb\xff")}},
            {"text": "Let me see."},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Oslo", "days": 1.5}}},
            {"toolUse": {"toolUseId": "tooluse_2", "name": "weather", "input": {}}},
        ],
        [
            {"citationsContent": {"content": [{"text": "It opens at nine."}], "citations": [citation]}},
            {"toolUse": {"toolUseId": "srv:1", "name": "search", "input": {"q": "x"}, "type": "server_tool_use"}},
            {"toolUse": {"toolUseId": "tooluse_3", "name": "camera", "input": {}}},
        ],
        [{"text": "Two pictures."}, {"text": "Both are of the harbour."}],
        [{"text": "Done."}],
    ])
    cached = {"cachePoint": {"type": "default"}}
    messages = [{"role": "user", "content": [
        {"text": "Where is it sunny?"},
        {"guardContent": {"text": {"text": "Only Norway.", "qualifiers": ["grounding_source"]}}},
        cached,
        {"document": {"format": "txt", "name": "harbour", "source": {"text": "It opens at nine."},
                      "context": "A timetable.", "citations": {"enabled": True}}},
        {"document": {"format": "pdf", "name": "ticket (1)", "source": {"bytes": b"%PDF"}}},
        {"document": {"name": "notes", "source": {"content": [{"text": "One."}, {"text": "Two."}]}}},
        {"image": {"format": "png", "source": {"bytes": b"\xfb\xff\xfe"}}},
        {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/harbour", "bucketOwner": "123456789012"}}}},
        {"video": {"format": "three_gp", "source": {"s3Location": {"uri": "s3://bucket/tour.3gp"}}}},
        {"video": {"format": "mpg", "source": {"bytes": b"video"}}},
        {"audio": {"format": "mp3", "source": {"bytes": b"sound"}}},
        {"searchResult": {"source": "https://example.org", "title": "Oslo", "content": [{"text": "Sunny."}],
                          "citations": {"enabled": False}}},
    ]}]
    messages.append(service.converse(messages))
    messages.append({"role": "user", "content": [
        {"toolResult": {"toolUseId": "tooluse_1", "content": [{"json": {"sky": "clear"}}], "status": "success"}},
        {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "no such city"}], "status": "error"}},
        cached,
    ]})
    messages.append(service.converse(messages))
    picture = {"image": {"format": "png", "source": {"bytes": b"png"}}}
    file = {"document": {"format": "csv", "name": "list", "source": {"bytes": b"a,b"}}}
    messages.append({"role": "user", "content": [
        {"toolResult": {"toolUseId": "srv:1", "content": []}},
        {"toolResult": {"toolUseId": "tooluse_3", "content": [{"text": "Here."}, {"json": {"count": 2}}, picture, file]}},
        {"text": "And this?"},
        {"cachePoint": {"type": "default", "ttl": "1h"}},
    ]})
    messages.append(service.converse(messages))
    messages.append({"role": "user", "content": [{"text": "Thanks."}]})
    service.converse(messages)
    return deepcopy(service.requests[-1]["messages"])


if __name__ == "__main__":
    written("bedrock-converse", [conversation()])
    if sys.argv[1] != "--write":
        each(Path(sys.argv[1]), "bedrock-converse", "a request of botocore", load)
