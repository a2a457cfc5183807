"""Records renderings in `otel-genai` as attributes of a span, with OpenTelemetry's library for generative AI."""

import base64
import json
import os

# By default, a span has no messages.
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.genai import types
from opentelemetry.util.genai.handler import TelemetryHandler

PARTS = {
    part.type: part
    for part in (
        types.TextPart, types.ReasoningPart, types.ToolCallRequestPart, types.ToolCallResponsePart, types.BlobPart,
        types.UriPart, types.FilePart,
    )
}

SPANS = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(SPANS))
HANDLER = TelemetryHandler(tracer_provider=PROVIDER)


def recorded(messages: list[dict], system: list[dict]) -> tuple[list, list]:
    """Returns the messages and the instructions that a span has once they were recorded."""
    with HANDLER.inference("openai", request_model="gpt") as inference:
        inference.input_messages = [
            types.InputMessage(**message | {"parts": [read_part(part) for part in message["parts"]]})
            for message in messages
        ]
        inference.system_instruction = [read_part(part) for part in system]
    [span] = SPANS.get_finished_spans()
    SPANS.clear()
    attributes = ["gen_ai.input.messages", "gen_ai.system_instructions"]
    return tuple(json.loads(span.attributes.get(attribute, "[]")) for attribute in attributes)


def read_part(part: dict) -> object:
    """Returns the library's object for a part, which has no default for a media type that is not known."""
    fields = {field: value for field, value in part.items() if field != "type"}
    if part["type"] in ("blob", "uri", "file"):
        fields.setdefault("mime_type", None)
    if part["type"] == "blob":
        fields["content"] = base64.b64decode(part["content"], validate=True)
    return PARTS[part["type"]](**fields)
