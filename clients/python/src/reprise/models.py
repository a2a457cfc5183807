# Made by tools/models.sh from the description of the API.

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Dict
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypeAliasType


class Action(str, Enum):
    """
    What an orchestrator does next: run the failed or the interrupted step again (`retry`, `continue`), wait for an answer, start if no step is open, or nothing.
    """

    retry = "retry"
    continue_ = "continue"
    await_input = "await_input"
    start = "start"
    nothing_to_do = "nothing_to_do"


class AppId(RootModel[str]):
    root: Annotated[
        str,
        Field(
            examples=["acme_corp"],
            max_length=64,
            min_length=1,
            pattern="^[A-Za-z0-9_-]+$",
        ),
    ]
    """
    The id of an app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    """


class AppStatus(str, Enum):
    """
    Whether an app may be used.
    """

    enabled = "enabled"
    disabled = "disabled"


class Appended(BaseModel):
    """
    An appended message.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    event_id: Annotated[str, Field(examples=["evt_msg_001"])]
    sequence: Annotated[int, Field(examples=[1], ge=0)]
    duplicate: bool
    """
    Whether the message was stored before.
    """


class AppendedDocument(BaseModel):
    """
    What an append has done.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    offset: Annotated[int, Field(examples=[1024], ge=0)]
    """
    Where the appended bytes begin.
    """
    size: Annotated[int, Field(examples=[2048], ge=0)]
    """
    The size of the content now.
    """
    entity_tag: Annotated[
        str, Field(examples=["content_0198d4b27c1e7a3b9f552f6c1d0e8a41-2"])
    ]
    """
    The `ETag` of the document now, without quotation marks.
    """
    duplicate: bool
    """
    Whether an earlier request has appended these bytes.
    """


class AssistantTag(BaseModel):
    """
    A tag, and how many assistants have it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    tag: Annotated[str, Field(examples=["weather"])]
    assistants: Annotated[int, Field(examples=[3], ge=0)]


class AssistantTags(BaseModel):
    """
    The tags of assistants.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[AssistantTag]
    """
    By name.
    """
    truncated: bool
    """
    Whether there may be more tags: 10,000 assistants were examined, or 1,000 tags found.
    """


class Author(BaseModel):
    """
    The person who wrote a message.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    display_name: Annotated[str | None, Field(examples=["Alice"])] = None
    """
    The display name at that time, if it was given with the message.
    """


class BalanceResponse(BaseModel):
    """
    The balance of a user.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    balance: Annotated[int, Field(examples=[1000])]
    """
    Whole tokens; 0 if the user has no wallet.
    """
    remaining: Annotated[int, Field(examples=[1000])]
    """
    The same as `balance`.
    """
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    app_id: Annotated[str, Field(examples=["acme_corp"])]


class BoundToolCall(BaseModel):
    """
    The tool call that a question is bound to.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: Annotated[str, Field(examples=["call_1"])]
    name: Annotated[str, Field(examples=["delete_files"])]
    arguments: Any
    arguments_hash: Annotated[str, Field(examples=["8f2b0c1d9e7a4b3c8f2b0c1d9e7a4b3c"])]
    """
    A hash of the arguments, which an answer repeats.
    """


class CallSummary(BaseModel):
    """
    The calls of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    provider_call_count: Annotated[int, Field(examples=[3], ge=0)]
    """
    The number of calls.
    """
    cost_micros_usd: Annotated[int, Field(examples=[1200], ge=0)]
    """
    The cost of all calls, in millionths of a US dollar.
    """
    last_model: str | None = None
    """
    The model that answered the newest call.
    """
    last_provider: str | None = None
    """
    The provider of that model.
    """
    last_request_id: str | None = None
    """
    The id that the provider gave to the newest call.
    """


class ChatId(RootModel[str]):
    root: Annotated[
        str,
        Field(
            examples=["chat_abc123def456"],
            max_length=128,
            min_length=1,
            pattern="^[A-Za-z0-9_][A-Za-z0-9_.:-]*$",
        ),
    ]
    """
    The id of a chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`, beginning with a letter, a digit or `_`.
    """


class ChatPermission(str, Enum):
    """
    What a caller may do with a chat: fork it (`create`), read it (`read`), say something and answer questions (`say`), write what a workflow writes (`run`), record calls (`bill`), or change the chat itself and its members (`manage`).
    """

    create = "create"
    read = "read"
    say = "say"
    run = "run"
    bill = "bill"
    manage = "manage"


class ChatStatus(str, Enum):
    """
    The status of a chat.
    """

    running = "running"
    paused = "paused"
    completed = "completed"
    failed = "failed"


class ChatStatuses(RootModel[str]):
    root: Annotated[
        str,
        Field(
            examples=["running,paused"],
            max_length=128,
            min_length=1,
            pattern="^(running|paused|completed|failed)(,(running|paused|completed|failed))*$",
        ),
    ]
    """
    One status of a chat or several, separated by commas.
    """


class ClearedMessages(BaseModel):
    """
    What a request has cleared.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    deleted: Annotated[int, Field(examples=[12], ge=0)]
    """
    How many messages are deleted now, those that were deleted before included.
    """
    has_more: bool
    """
    Whether there are more: repeat the request.
    """


class Completion(BaseModel):
    """
    The state in which a chat is completed.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    context_snapshot: dict[str, Any] | None = None
    """
    The context snapshot to store first, which needs the permission `run`; at most 8 MiB.
    """


class ConsumeResponse(BaseModel):
    """
    The balance afterwards.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    success: Annotated[bool, Field(examples=[True])]
    remaining: Annotated[int, Field(examples=[700])]
    """
    Whole tokens.
    """
    entry_id: Annotated[str | None, Field(examples=["call_42"])] = None
    """
    The id of the wallet entry; null if nothing was debited.
    """


class ContextDiffResponse(BaseModel):
    """
    The difference between two versions of the context snapshot.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    from_: Annotated[int, Field(alias="from", examples=[2], ge=0)]
    to: Annotated[int, Field(examples=[3], ge=0)]
    patch: Annotated[
        list[dict[str, Any]],
        Field(examples=[[{"op": "replace", "path": "/step", "value": 2}]]),
    ]
    """
    A JSON patch (RFC 6902) that turns `from` into `to`, of at most 16 MiB; empty if they are equal.
    """


class ContextResponse(BaseModel):
    """
    The context snapshot of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The chat's counter when the snapshot was written: it reflects the messages below this sequence.
    """
    context_snapshot: dict[str, Any] | None = None
    """
    The variables; empty if none were ever stored. Missing in the response to a write with
    `Prefer: return=minimal`.
    """


class DeletedAssistants(BaseModel):
    """
    How many assistants were deleted.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    deleted: Annotated[int, Field(examples=[2], ge=0)]
    has_more: bool
    """
    Whether there may be more: repeat the request.
    """


class DeletedDocuments(BaseModel):
    """
    How many documents were deleted.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    deleted: Annotated[int, Field(examples=[2], ge=0)]
    has_more: bool
    """
    Whether there may be more: repeat the request.
    """


class DeletedMessage(BaseModel):
    """
    A message that is deleted.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    event_id: Annotated[str, Field(examples=["evt_msg_001"])]
    sequence: Annotated[int, Field(examples=[1], ge=0)]


class DeletedMessages(BaseModel):
    """
    What became of each id.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    deleted: list[DeletedMessage]
    """
    The messages that are deleted now, those that were deleted before included, in the order of the request.
    """
    unknown: Annotated[list[str], Field(examples=[["evt_msg_002"]])]
    """
    The ids that the chat does not have, in the order of the request.
    """


class DeltaAction(str, Enum):
    """
    How a delta is merged.
    """

    append = "append"
    replace_ = "replace"


class Dialect(str, Enum):
    """
    A format of messages; docs/api/messages.md describes each.
    """

    ag2 = "ag2"
    ag2_classic = "ag2-classic"
    ag2_classic_manager = "ag2-classic-manager"
    ag2_v1 = "ag2-v1"
    openai = "openai"
    openai_compatible = "openai-compatible"
    openai_responses = "openai-responses"
    anthropic = "anthropic"
    claude_agent_sdk = "claude-agent-sdk"
    bedrock_converse = "bedrock-converse"
    gemini = "gemini"
    gemini_vertex = "gemini-vertex"
    langchain = "langchain"
    pydantic_ai = "pydantic-ai"
    google_adk = "google-adk"
    ui_message = "ui-message"
    ag_ui = "ag-ui"
    acp = "acp"
    yao = "yao"
    otel_genai = "otel-genai"


class DocumentPath(RootModel[str]):
    model_config = ConfigDict(
        regex_engine="python-re",
    )
    root: Annotated[
        str,
        Field(
            examples=["notes/plan.md"],
            max_length=1024,
            min_length=1,
            pattern="^(?!\\.{1,2}(/|$))[^/\\x00-\\x1f\\x7f-\\x9f]+(/(?!\\.{1,2}(/|$))[^/\\x00-\\x1f\\x7f-\\x9f]+)*$",
        ),
    ]
    """
    The path of a document within its app: 1 to 32 names of 1 to 256 bytes without control characters, separated by `/`, at most 1,024 bytes together. No name is `.` or `..`.
    """


class Dropped(BaseModel):
    """
    A message that was dropped.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int | None, Field(ge=0)] = None
    """
    The sequence of the message.
    """
    reason: Annotated[str, Field(examples=["unsupported_role"])]
    """
    The reason, as a stable word.
    """
    detail: str
    """
    The reason, as a sentence.
    """


class DroppedChunk(BaseModel):
    """
    A chunk that is in no message.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    position: Annotated[int, Field(examples=[3], ge=0)]
    detail: Annotated[str, Field(examples=["must be a string"])]


class DroppedOfTurn(BaseModel):
    """
    A message of a turn that is not stored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    index: Annotated[int, Field(ge=0)]
    """
    The index in `messages`.
    """
    reason: Annotated[str, Field(examples=["event"])]
    """
    The reason: `event` for messages that only control a stream.
    """


class EmptyRequest(BaseModel):
    """
    An object without fields.
    """

    model_config = ConfigDict(
        extra="allow",
    )


class EnsureWalletRequest(BaseModel):
    """
    The initial state of a new wallet.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    initial_balance: Annotated[int | None, Field(ge=0, le=1000000000000)] = None
    """
    Whole tokens.
    """


class EntryKind(str, Enum):
    """
    What changed the balance of a wallet.
    """

    initial = "initial"
    credit = "credit"
    debit = "debit"


ErasedAdditionalProperty = TypeAliasType(
    "ErasedAdditionalProperty", Annotated[int, Field(ge=0)]
)


class Events(BaseModel):
    """
    The number of changes of status; a chat that was reopened and has ended again is counted twice.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    starts: Annotated[int, Field(examples=[2], ge=0)]
    pauses: Annotated[int, Field(examples=[0], ge=0)]
    resumptions: Annotated[int, Field(examples=[0], ge=0)]
    completions: Annotated[int, Field(examples=[2], ge=0)]
    failures: Annotated[int, Field(examples=[0], ge=0)]
    reopens: Annotated[int, Field(examples=[0], ge=0)]


class FieldError(BaseModel):
    """
    A part of the request that was refused.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    pointer: Annotated[str | None, Field(examples=["/messages/0/role"])] = None
    """
    JSON pointer (RFC 6901) into the body.
    """
    parameter: str | None = None
    """
    Name of the path or query parameter.
    """
    detail: str
    """
    What is wrong with it, and the limit if there is one.
    """


class ForkOrigin(BaseModel):
    """
    The source of a fork.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    sequence: Annotated[int, Field(examples=[12], ge=0)]
    """
    The number of messages shared with the source.
    """


class HistoryMessage(BaseModel):
    """
    A message in the dialect; in `ag2` exactly `role`, `name` and `content`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    role: Annotated[str | None, Field(examples=["assistant"])] = None
    """
    Not in every dialect.
    """


class Position(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Call(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Start(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class CostMicrosUsdItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Hourly(BaseModel):
    """
    The statistics of each of the `hours`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    calls: list[Call]
    starts: list[Start]
    cost_micros_usd: list[CostMicrosUsdItem]


class InputAnswer(BaseModel):
    """
    The answer to an input request.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    content: Any
    name: Annotated[str, Field(examples=["user_alice_456"])]
    """
    The name of the person who answered, as given with the answer.
    """
    author: Author | None = None
    event_id: Annotated[str, Field(examples=["evt_msg_001"])]
    """
    The id of the message that the answer became.
    """
    sequence: Annotated[int, Field(examples=[4], ge=0)]


class InputKind(str, Enum):
    """
    What counts as an answer: any content (`text`), one of the options (`choice`), or true or false (`confirm`).
    """

    text = "text"
    choice = "choice"
    confirm = "confirm"


class InputState(str, Enum):
    """
    The state of an input request.
    """

    pending = "pending"
    answered = "answered"
    cancelled = "cancelled"
    expired = "expired"
    chat_ended = "chat_ended"


class Interruption(BaseModel):
    """
    Why a chat is paused or fails, and what it resumes from.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    reason: str | None = None
    """
    At most 1,000 characters.
    """
    context_snapshot: dict[str, Any] | None = None
    """
    The context snapshot to store first, which needs the permission `run`; at most 8 MiB.
    """


class LeaseRenewal(BaseModel):
    """
    A renewal of a lease.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    ttl_ms: Annotated[int | None, Field(ge=100, le=3600000)] = 30000
    """
    How long the lease is valid from now on, in milliseconds.
    """


class Lifecycle(str, Enum):
    """
    Whether a chat is in use (`active`), put aside (`archived`), or gone for its callers (`deleted`).
    """

    active = "active"
    archived = "archived"
    deleted = "deleted"


class Lifecycles(RootModel[str]):
    root: Annotated[
        str,
        Field(
            examples=["active,archived"],
            max_length=128,
            min_length=1,
            pattern="^(all|(active|archived|deleted)(,(active|archived|deleted))*)$",
        ),
    ]
    """
    `all`, or one lifecycle of a chat or several, separated by commas.
    """


class LiveCheck(str, Enum):
    """
    How live chats learn of changes by other processes; by polling if the database has no change stream.
    """

    change_stream = "change_stream"
    polling = "polling"


class LiveResponse(BaseModel):
    """
    The liveness of the process.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: Annotated[str, Field(examples=["ok"])]


class MemberRole(str, Enum):
    """
    What a member may do: read and say (`member`), or read (`reader`).
    """

    member = "member"
    reader = "reader"


class MessageInclusion(BaseModel):
    """
    What leads from a message to the root of a checkpoint. Hashes are SHA-256 in hexadecimal digits.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    statement: str
    """
    The message as JSON, as it was committed to. The commitment is the hash of the salt and of this text.
    """
    salt: str
    """
    16 random bytes in hexadecimal digits.
    """
    changes: Annotated[int, Field(examples=[0], ge=0)]
    """
    How often the message was changed.
    """
    index: Annotated[int, Field(examples=[5], ge=0)]
    """
    The place of the commitment in its block.
    """
    block_size: Annotated[int, Field(examples=[256], ge=0)]
    """
    How many commitments the block has.
    """
    path: list[str]
    """
    The hashes beside the way from the commitment to the root of its block (RFC 9162, section 2.1.3).
    """
    before: str
    """
    The hash of the chain before the block.
    """
    after: list[str]
    """
    The roots of the blocks behind it.
    """


class MetadataKey(RootModel[str]):
    root: Annotated[str, Field(max_length=64, min_length=1)]


class MetadataKeys(RootModel[list[MetadataKey]]):
    """
    Different top-level keys of the metadata of chats, at most 8.
    """

    root: Annotated[list[MetadataKey], Field(examples=[["customer"]], max_length=8)]
    """
    Different top-level keys of the metadata of chats, at most 8.
    """


class Name(RootModel[str]):
    root: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    An id or a name: 1 to 128 visible characters, without blanks at its ends.
    """


class Namespace(BaseModel):
    """
    A namespace that has documents.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    namespace: Annotated[str, Field(examples=["notes"])]


class NewAuthor(BaseModel):
    """
    The person who wrote a message.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    An id or a name: 1 to 128 visible characters, without blanks at its ends.
    """
    display_name: Name | None = None


class NewBoundToolCall(BaseModel):
    """
    A tool call.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    The id that the model gave.
    """
    name: str
    """
    The name of the tool.
    """
    arguments: Any | None = None
    """
    The arguments, at most 256 KiB.
    """


class NewChunks(BaseModel):
    """
    Chunks to add to a stream.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    from_: Annotated[int, Field(alias="from", ge=0)]
    """
    The position of the first of these chunks. It is the number of chunks before it.
    """
    chunks: Annotated[list[Any], Field(max_length=1000)]
    """
    At most 1,000 chunks, together at most 1 MiB: chunks of the AI SDK, updates of ACP, or texts. None says that the agent is
    still there; a stream that nothing is written to for 30 s counts as stalled.
    """


class NewErasure(BaseModel):
    """
    The person to erase.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    An id or a name: 1 to 128 visible characters, without blanks at its ends.
    """


class NewHold(BaseModel):
    """
    Why a chat is put under hold.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    reason: Annotated[str, Field(max_length=1000)]
    """
    For operators, at most 1,000 characters.
    """


class NewInputRequest(BaseModel):
    """
    A question to ask.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    request_id: Name | None = None
    prompt: Annotated[str, Field(min_length=1)]
    """
    The question as shown to people, at most 16 KiB.
    """
    agent: str | None = None
    """
    The agent that asks.
    """
    kind: InputKind | None = None
    """
    What counts as an answer: any content (`text`), one of the options (`choice`), or true or false
    (`confirm`).
    """
    options: Annotated[list[str] | None, Field(max_length=64)] = None
    """
    With `choice`: 1 to 64 texts of at most 1 KiB.
    """
    tool_call: NewBoundToolCall | None = None
    metadata: dict[str, Any] | None = None
    """
    Data of the caller that is stored with the request, at most 16 KiB.
    """
    expires_in_sec: Annotated[int | None, Field(ge=1, le=2592000)] = None
    """
    After how many seconds the request expires, at most 30 days; by default it never expires.
    """


class NewLease(BaseModel):
    """
    A lease to acquire.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    lease_id: Name | None = None
    owner: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    The owner, such as one process of an orchestrator: 1 to 128 characters.
    """
    ttl_ms: Annotated[int | None, Field(ge=100, le=3600000)] = 30000
    """
    How long the lease is valid without a renewal, in milliseconds.
    """


class NewMember(BaseModel):
    """
    What a member may do.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    role: MemberRole | None = None


class NewMessage(BaseModel):
    """
    A message to append. A null field counts as missing, except `content`. Any other field is kept in `provider`, for the
    dialect `openai`, and told in `noted`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    event_id: Name | None = None
    sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Where the caller believes that the message is. The chat gives the positions; a difference is told in `noted`.
    """
    expected_last_sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Beside a single message: append it only if the chat has this `last_sequence`.
    """
    role: Name | None = None
    name: str | None = None
    """
    The speaker.
    """
    agent_name: str | None = None
    """
    An alternative to `name`.
    """
    content: Any | None = None
    """
    Any JSON value, mostly text. Required unless the message has `content_blocks`, `function_call`, `props`, `refusal`,
    `tool_calls` or `tool_responses`.
    """
    timestamp: Annotated[str | None, Field(max_length=64)] = None
    """
    The caller's own time, stored as given, at most 64 characters.
    """
    metadata: dict[str, Any] | None = None
    """
    Data of the caller that is stored with the message.
    """
    author: NewAuthor | None = None
    assistant_id: Name | None = None
    block_id: Name | None = None
    connector: Name | None = None
    content_blocks: Any | None = None
    """
    The content as the blocks of Anthropic: histories take from them the reasoning with its signatures, and the content
    if `content` is missing or the same text.
    """
    event_type: Any | None = None
    function_call: Any | None = None
    is_user_proxy: Any | None = None
    message_id: Name | None = None
    mode: Name | None = None
    produced_by_call_id: Name | None = None
    props: Any | None = None
    """
    The properties of the message for a user interface, mostly an object.
    """
    reasoning_content: Any | None = None
    refusal: Any | None = None
    structured_output: Any | None = None
    structured_schema: Any | None = None
    thread_id: Name | None = None
    tool_call_id: Any | None = None
    tool_calls: Any | None = None
    tool_error: Any | None = None
    """
    Beside a result: whether, or how, the call failed. Histories give the result as failed unless it is false or an empty
    text.
    """
    tool_responses: Any | None = None
    type: Name | None = None
    provider: dict[str, Any] | None = None
    """
    What the message came with besides these fields, by dialect.
    """


class NewMessages(BaseModel):
    """
    Several messages to append atomically.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    messages: Annotated[list[NewMessage], Field(max_length=1000, min_length=1)]
    """
    1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    """
    expected_last_sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Append them only if the chat has this `last_sequence`.
    """


class NewParticipant(BaseModel):
    """
    The user who joins: the caller, or the user that a service names.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Name | None = None
    display_name: Name | None = None


class NewTranscript(BaseModel):
    """
    A transcript in a dialect, to append atomically.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    messages: list[dict[str, Any]]
    """
    The messages in the dialect: at most 1,000, of at most 4 MiB each, together at most 8 MiB. `acp` and
    `ag2-v1` may have 50,000 items, because several of them make one message; the limit of 1,000 then holds
    for the messages stored.
    """
    system: list[Any] | str | dict[str, Any] | None = None
    request_id: Name | None = None


class Noted(BaseModel):
    """
    Something that the caller should know of a message although it is stored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    index: Annotated[int, Field(ge=0)]
    """
    The index of the message in the request.
    """
    rule: Annotated[str, Field(examples=["unanswered_call"])]
    """
    The rule that the message breaks, as a stable word.
    """
    detail: str
    """
    How it breaks the rule, as a sentence.
    """


class OneOrSeveralNewMessages(RootModel[NewMessage | NewMessages]):
    root: NewMessage | NewMessages


class OverallAvg(BaseModel):
    """
    Averages: durations over the chats that have ended, all others over all chats.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    avg_duration_sec: Annotated[float, Field(examples=[245.5])]
    avg_prompt_tokens: Annotated[int, Field(examples=[3200], ge=0)]
    """
    Whole tokens, rounded down, like the other two.
    """
    avg_completion_tokens: Annotated[int, Field(examples=[1500], ge=0)]
    avg_total_tokens: Annotated[int, Field(examples=[4700], ge=0)]
    avg_cost_total_usd: Annotated[float, Field(examples=[0.15])]


class PageNamespace(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[Namespace]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class Payment(BaseModel):
    """
    The payment for calls from the wallet of the chat's user.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    is_paid: Annotated[bool, Field(examples=[True])]
    """
    Whether the balance was sufficient. If not, nothing was debited and the chat is paused.
    """
    amount: Annotated[int, Field(examples=[16])]
    """
    The tokens that the calls used.
    """
    balance: Annotated[int, Field(examples=[984])]
    """
    The balance of the wallet afterwards.
    """
    entry_id: Annotated[str | None, Field(examples=["recording_0198d4b2"])] = None
    """
    The id of the wallet entry; null if nothing was debited.
    """


class PendingCall(BaseModel):
    """
    A tool call without a result.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int, Field(ge=0)]
    """
    The sequence of the message with the call.
    """
    speaker: Annotated[str | None, Field(examples=["analyzer"])] = None
    """
    The speaker of that message.
    """
    call_id: Annotated[str | None, Field(examples=["call_1"])] = None
    """
    Null for calls in the older `function_call` format, which have no id.
    """
    name: Annotated[str, Field(examples=["search"])]
    arguments: Any
    """
    The arguments as stored, mostly the text of a JSON object.
    """


class Percentiles(BaseModel):
    """
    Percentiles of a distribution, with an error of at most 1/32; null if it is empty.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    count: Annotated[int, Field(examples=[2], ge=0)]
    p50: Annotated[int | None, Field(examples=[4352], ge=0)] = None
    p95: Annotated[int | None, Field(examples=[5120], ge=0)] = None
    p99: Annotated[int | None, Field(examples=[5120], ge=0)] = None


class PersonRole(str, Enum):
    """
    What a person is in the service.
    """

    user = "user"
    support = "support"
    operator = "operator"


class ProblemCode(str, Enum):
    """
    A kind of problem.
    """

    invalid_transfer_encoding = "invalid-transfer-encoding"
    invalid_host = "invalid-host"
    malformed_json = "malformed-json"
    invalid_app_id = "invalid-app-id"
    unauthenticated = "unauthenticated"
    insufficient_tokens = "insufficient-tokens"
    app_disabled = "app-disabled"
    forbidden_app = "forbidden-app"
    forbidden_origin = "forbidden-origin"
    forbidden_owner = "forbidden-owner"
    forbidden_permission = "forbidden-permission"
    sign_in_failed = "sign-in-failed"
    no_search = "no-search"
    no_sign_in = "no-sign-in"
    forbidden_role = "forbidden-role"
    no_such_route = "no-such-route"
    app_not_found = "app-not-found"
    erasure_not_found = "erasure-not-found"
    chat_not_found = "chat-not-found"
    message_not_found = "message-not-found"
    context_version_not_found = "context-version-not-found"
    assistant_not_found = "assistant-not-found"
    document_not_found = "document-not-found"
    wallet_not_found = "wallet-not-found"
    method_not_allowed = "method-not-allowed"
    not_acceptable = "not-acceptable"
    upgrade_required = "upgrade-required"
    body_timeout = "body-timeout"
    chat_exists = "chat-exists"
    assistant_taken = "assistant-taken"
    document_taken = "document-taken"
    chat_held = "chat-held"
    chat_ended = "chat-ended"
    append_conflict = "append-conflict"
    event_conflict = "event-conflict"
    call_conflict = "call-conflict"
    tool_run_conflict = "tool-run-conflict"
    entry_conflict = "entry-conflict"
    balance_too_large = "balance-too-large"
    input_not_found = "input-not-found"
    input_conflict = "input-conflict"
    input_closed = "input-closed"
    tool_call_mismatch = "tool-call-mismatch"
    unsettled_tool_calls = "unsettled-tool-calls"
    too_many_inputs = "too-many-inputs"
    too_many_revocations = "too-many-revocations"
    too_many_members = "too-many-members"
    too_many_participants = "too-many-participants"
    stream_not_found = "stream-not-found"
    stream_conflict = "stream-conflict"
    busy = "busy"
    fenced = "fenced"
    turn_conflict = "turn-conflict"
    broken_call_stack = "broken-call-stack"
    stack_not_found = "stack-not-found"
    illegal_transition = "illegal-transition"
    sequence_conflict = "sequence-conflict"
    precondition_failed = "precondition-failed"
    body_too_large = "body-too-large"
    message_too_large = "message-too-large"
    batch_too_large = "batch-too-large"
    context_too_large = "context-too-large"
    artifact_too_large = "artifact-too-large"
    metadata_too_large = "metadata-too-large"
    input_too_large = "input-too-large"
    tool_run_too_large = "tool-run-too-large"
    assistant_too_large = "assistant-too-large"
    document_too_large = "document-too-large"
    range_not_satisfiable = "range-not-satisfiable"
    unsupported_media_type = "unsupported-media-type"
    invalid_request = "invalid-request"
    too_many_requests = "too-many-requests"
    diff_too_large = "diff-too-large"
    internal = "internal"
    unsupported_schema_version = "unsupported-schema-version"
    corrupt_document = "corrupt-document"
    store_refused = "store-refused"
    store_unavailable = "store-unavailable"
    not_a_replica_set = "not-a-replica-set"
    keys_unavailable = "keys-unavailable"
    upgrade_pending = "upgrade-pending"
    indexing_metadata = "indexing-metadata"
    overloaded = "overloaded"
    too_many_subscribers = "too-many-subscribers"
    deadline_exceeded = "deadline-exceeded"
    outcome_unknown = "outcome-unknown"


class Readiness(str, Enum):
    """
    Whether the service can handle requests; `stopping` once the process was asked to stop.
    """

    ready = "ready"
    unavailable = "unavailable"
    stopping = "stopping"


class ReasonRequest(BaseModel):
    """
    The reason for which a question is cancelled.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    reason: Annotated[str | None, Field(max_length=1000)] = None
    """
    At most 1,000 characters.
    """


class Repaired(BaseModel):
    """
    A message that was changed in the response; the stored message is unchanged.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int, Field(ge=0)]
    """
    The sequence of the message.
    """
    repair: Annotated[str, Field(examples=["name_sanitised"])]
    """
    The change, as a stable word.
    """
    detail: str
    """
    The change, as a sentence.
    """


class RestoreContextRequest(BaseModel):
    """
    The version to restore.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: Annotated[int, Field(ge=0)]


class StatusChanged(BaseModel):
    """
    With `status`: the new status of the chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: ChatStatus
    """
    `running`, `paused`, `completed` or `failed`.
    """
    status_reason: str | None = None
    """
    Why the chat was paused or failed.
    """


class Statuses(BaseModel):
    """
    The number of chats by their current status, without those that were deleted or purged before they had ended.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    running: Annotated[int, Field(examples=[0], ge=0)]
    paused: Annotated[int, Field(examples=[0], ge=0)]
    completed: Annotated[int, Field(examples=[2], ge=0)]
    failed: Annotated[int, Field(examples=[0], ge=0)]


class Step(str, Enum):
    """
    The period that each point of a series covers.
    """

    hour = "hour"
    day = "day"


class StepStatus(str, Enum):
    """
    The state of a step.
    """

    running = "running"
    completed = "completed"
    interrupted = "interrupted"
    failed = "failed"


class StepType(str, Enum):
    """
    The kind of a step.
    """

    input = "input"
    hook_create = "hook_create"
    llm = "llm"
    tool = "tool"
    hook_next = "hook_next"
    delegate = "delegate"


class StoreCheck(str, Enum):
    """
    Whether the store answers, or must become a replica set first.
    """

    ok = "ok"
    unavailable = "unavailable"
    starting = "starting"
    not_a_replica_set = "not-a-replica-set"


class StoredDialect(str, Enum):
    """
    A format in which messages can be stored, too; docs/api/messages.md describes each.
    """

    ag2 = "ag2"
    ag2_classic = "ag2-classic"
    ag2_classic_manager = "ag2-classic-manager"
    ag2_v1 = "ag2-v1"
    openai = "openai"
    openai_compatible = "openai-compatible"
    openai_responses = "openai-responses"
    anthropic = "anthropic"
    claude_agent_sdk = "claude-agent-sdk"
    bedrock_converse = "bedrock-converse"
    gemini = "gemini"
    gemini_vertex = "gemini-vertex"
    langchain = "langchain"
    pydantic_ai = "pydantic-ai"
    google_adk = "google-adk"
    ui_message = "ui-message"
    ag_ui = "ag-ui"
    acp = "acp"
    yao = "yao"


class StreamChunk(BaseModel):
    """
    With `stream-chunk`: chunks of a stream.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stream_id: Annotated[str, Field(examples=["stream_0198d4b2"])]
    attempt: Annotated[int, Field(examples=[1], ge=0)]
    """
    See the stream.
    """
    from_: Annotated[int, Field(alias="from", examples=[12], ge=0)]
    """
    The position of the first of the chunks.
    """
    next: Annotated[int, Field(examples=[14], ge=0)]
    """
    The position after the last of the chunks.
    """
    chunks: list[Any]
    """
    There may be fewer than positions: deltas of one text that were written before the client came are joined.
    """


class StreamEndState(str, Enum):
    """
    How a stream ends: as the agent wanted (`finished`), because of an error (`failed`), or because the agent was asked to stop
    (`cancelled`).
    """

    finished = "finished"
    failed = "failed"
    cancelled = "cancelled"


class StreamFormat(str, Enum):
    """
    What the chunks are: chunks of a UI message stream of the AI SDK (`ui_message`), updates of the Agent Client Protocol
    (`acp`), or strings (`text`).
    """

    ui_message = "ui_message"
    acp = "acp"
    text = "text"


class StreamFormatName(str, Enum):
    """
    What the chunks of a stream are.
    """

    ui_message = "ui_message"
    acp = "acp"
    text = "text"


class StreamGroup(BaseModel):
    """
    A write of a stream.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    group: Annotated[int, Field(examples=[4], ge=0)]
    """
    The number of the write, from 0.
    """
    event: Annotated[str, Field(examples=["chunks"])]
    """
    What it did: `started`, `chunks`, `continued` and `restarted` by the next holder of the lease, `cancel_requested`, or `ended`.
    """
    attempt: Annotated[int, Field(examples=[1], ge=0)]
    """
    See the stream.
    """
    from_: Annotated[int, Field(alias="from", examples=[12], ge=0)]
    """
    The position of its first chunk.
    """
    chunks: list[Any]


class StreamGroups(BaseModel):
    """
    A page of the writes of a stream.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stream_id: Annotated[str, Field(examples=["stream_0198d4b2"])]
    groups: list[StreamGroup]
    """
    Oldest first, about 1 MiB; empty at the end.
    """


class StreamProgress(BaseModel):
    """
    Where a stream stands.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stream_id: Annotated[str, Field(examples=["stream_0198d4b2"])]
    next: Annotated[int, Field(examples=[14], ge=0)]
    """
    The position of the next chunk.
    """
    cancel_requested: bool
    """
    Whether the agent is to stop, and to end the stream as `cancelled`.
    """


class StreamState(str, Enum):
    """
    Whether a stream goes on, or how it ended.
    """

    running = "running"
    finished = "finished"
    failed = "failed"
    cancelled = "cancelled"
    superseded = "superseded"


class StreamTurn(BaseModel):
    """
    The turn that a stream became.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    request_id: Annotated[str, Field(examples=["req_abc"])]
    duplicate: bool
    """
    Whether the turn was stored before.
    """
    last_sequence: Annotated[int, Field(examples=[2], ge=0)]
    """
    The chat's counter afterwards: the sequence of the next message.
    """
    messages: list[Appended]
    """
    One for each message, in order.
    """


class SubmittedAnswer(BaseModel):
    """
    An answer to an input request, in any chat of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[
        str,
        Field(
            examples=["acme_corp"],
            max_length=64,
            min_length=1,
            pattern="^[A-Za-z0-9_-]+$",
        ),
    ]
    """
    The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    """
    input_request_id: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    An id or a name: 1 to 128 visible characters, without blanks at its ends.
    """
    user_input: Annotated[str, Field(min_length=1)]
    chat_id: ChatId | None = None
    event_id: Name | None = None


class SubmittedInput(BaseModel):
    """
    The stored input.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: Annotated[str, Field(examples=["accepted"])]
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    request_id: Annotated[str | None, Field(examples=["input_0198d4b2"])] = None
    """
    The input request that the input has answered.
    """
    event_id: Annotated[str, Field(examples=["evt_msg_001"])]
    """
    The id of the message that the input became.
    """
    sequence: Annotated[int, Field(examples=[4], ge=0)]
    duplicate: bool
    """
    Whether the input was stored before.
    """


class TakeoverMode(str, Enum):
    """
    Whether the chunks so far stay (`continue`), or the answer begins again (`restart`).
    """

    continue_ = "continue"
    restart = "restart"


class Termination(BaseModel):
    """
    A message that ends a conversation.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int, Field(ge=0)]
    text: Annotated[str, Field(examples=["TERMINATE"])]
    """
    The text that ends the conversation.
    """


class TicketPermission(str, Enum):
    """
    A permission that a ticket can be for.
    """

    read = "read"
    say = "say"


class TimeGroup(str, Enum):
    """
    When something happened, by the days of a time zone. Weeks begin on Monday.
    """

    today = "today"
    yesterday = "yesterday"
    this_week = "this_week"
    this_month = "this_month"
    earlier = "earlier"


class ToolCallRef(BaseModel):
    """
    A tool call, identified by its arguments or by their hash.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str
    arguments_hash: str | None = None
    """
    The `arguments_hash` of the input request.
    """
    arguments: Any | None = None
    """
    The arguments, instead of their hash.
    """


class ToolRun(BaseModel):
    """
    A run of a tool.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    run_id: Annotated[str, Field(examples=["run_0198d4b2"])]
    tool_name: Annotated[str, Field(examples=["WebSearch"])]
    agent: Annotated[str | None, Field(examples=["researcher"])] = None
    """
    The agent that used the tool.
    """
    tool_call_id: Annotated[str | None, Field(examples=["call_7f3a"])] = None
    """
    The id of the tool call of a message that the run answers.
    """
    parameters: Any
    """
    What the tool was given.
    """
    result: Any
    """
    What the tool returned.
    """
    is_success: bool
    error: str | None = None
    """
    Why the tool failed.
    """
    execution_time_ms: Annotated[int | None, Field(examples=[250], ge=0)] = None
    """
    The duration, in milliseconds; null if it was not measured.
    """
    metadata: dict[str, Any]
    started_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the run began.
    """
    recorded_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the run was recorded.
    """


class ToolSums(BaseModel):
    """
    Sums.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    runs: Annotated[int, Field(examples=[12], ge=0)]
    succeeded: Annotated[int, Field(examples=[11], ge=0)]
    failed: Annotated[int, Field(examples=[1], ge=0)]
    success_rate: Annotated[float | None, Field(examples=[0.916])] = None
    """
    The share of runs that succeeded; null without runs.
    """
    execution_time_ms: Annotated[int, Field(examples=[3000], ge=0)]
    """
    The sum of the durations that are known, in milliseconds.
    """
    average_ms: Annotated[float | None, Field(examples=[250.0])] = None
    """
    Their average; null if none is known.
    """
    longest_ms: Annotated[int | None, Field(examples=[900], ge=0)] = None
    """
    The longest of them; null if none is known.
    """


class ToolUsage(ToolSums):
    """
    The sums of the runs of one tool.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    tool_name: Annotated[str, Field(examples=["WebSearch"])]
    last_started_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    When the last of the runs began.
    """


class Transcript(BaseModel):
    """
    The messages in a dialect, with what was dropped or repaired.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    dialect: Dialect
    messages: list[dict[str, Any]]
    dropped: list[Dropped]
    repaired: list[Repaired]
    names: dict[str, str]
    """
    The original of each name that was replaced.
    """
    ids: dict[str, str]
    """
    The original of each call id that was replaced.
    """
    system: list[dict[str, Any]]
    """
    The system instructions, for dialects that keep them apart from the messages.
    """


class TurnMessage(BaseModel):
    """
    A message of a turn, or a delta.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Where the caller believes that the message is. The chat gives the positions; a difference is told in `noted`.
    """
    expected_last_sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Beside a single message: append it only if the chat has this `last_sequence`.
    """
    role: Name | None = None
    name: str | None = None
    """
    The speaker.
    """
    agent_name: str | None = None
    """
    An alternative to `name`.
    """
    content: Any | None = None
    """
    Any JSON value, mostly text. Required unless the message has `content_blocks`, `function_call`, `props`, `refusal`,
    `tool_calls` or `tool_responses`.
    """
    timestamp: Annotated[str | None, Field(max_length=64)] = None
    """
    The caller's own time, stored as given, at most 64 characters.
    """
    metadata: dict[str, Any] | None = None
    """
    Data of the caller that is stored with the message.
    """
    author: NewAuthor | None = None
    assistant_id: Name | None = None
    block_id: Name | None = None
    connector: Name | None = None
    content_blocks: Any | None = None
    """
    The content as the blocks of Anthropic: histories take from them the reasoning with its signatures, and the content
    if `content` is missing or the same text.
    """
    event_type: Any | None = None
    function_call: Any | None = None
    is_user_proxy: Any | None = None
    message_id: str | None = None
    """
    The id that deltas refer to. A later message with the same id replaces the earlier one.
    """
    mode: Name | None = None
    produced_by_call_id: Name | None = None
    props: Any | None = None
    """
    The properties of the message for a user interface, mostly an object.
    """
    reasoning_content: Any | None = None
    refusal: Any | None = None
    structured_output: Any | None = None
    structured_schema: Any | None = None
    thread_id: Name | None = None
    tool_call_id: Any | None = None
    tool_calls: Any | None = None
    tool_error: Any | None = None
    """
    Beside a result: whether, or how, the call failed. Histories give the result as failed unless it is false or an empty
    text.
    """
    tool_responses: Any | None = None
    type: Name | None = None
    provider: dict[str, Any] | None = None
    """
    What the message came with besides these fields, by dialect.
    """
    chunk_id: Any | None = None
    """
    The number of the chunk; ignored.
    """
    delta: bool | None = None
    """
    Whether this item is a delta of the message with that `message_id`.
    """
    delta_path: str | None = None
    """
    The path that the delta changes, such as `content` (default) or `content.0.text`.
    """
    delta_action: DeltaAction | None = None


class TurnOutcome(str, Enum):
    """
    How a turn ended.
    """

    completed = "completed"
    interrupted = "interrupted"
    failed = "failed"


class Unread(BaseModel):
    """
    A part of a transcript that is not stored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    index: Annotated[int, Field(ge=0)]
    """
    The index in `messages`.
    """
    reason: Annotated[str, Field(examples=["unsupported_role"])]
    """
    The reason, as a stable word.
    """
    detail: str
    """
    The reason, as a sentence.
    """


class Unsettled(str, Enum):
    """
    What happens to a message whose tool calls do not all have results directly after it: its calls are removed, the missing results are added as errors (`settle`), the message is left out (`trim`), or the request is refused.
    """

    remove = "remove"
    settle = "settle"
    trim = "trim"
    reject = "reject"
    keep = "keep"


class UnsettledCall(BaseModel):
    """
    A tool call without a result.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int, Field(ge=0)]
    """
    The sequence of the message with the call.
    """
    call_id: Annotated[str, Field(examples=["call_1"])]
    name: Annotated[str, Field(examples=["search"])]
    """
    The name of the tool.
    """


class Usage(BaseModel):
    """
    The summed usage of several calls.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    calls: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of calls.
    """
    prompt_tokens: Annotated[int, Field(examples=[12], ge=0)]
    completion_tokens: Annotated[int, Field(examples=[4], ge=0)]
    total_tokens: Annotated[int, Field(examples=[16], ge=0)]
    cost_micros_usd: Annotated[int, Field(examples=[1234], ge=0)]
    """
    The cost, in millionths of a US dollar.
    """
    cost_usd: Annotated[str, Field(examples=["0.001234"])]
    """
    The same amount in US dollars.
    """
    duration_ms: Annotated[int, Field(examples=[850], ge=0)]
    """
    The sum of the durations, in milliseconds.
    """


class UsagePoint(BaseModel):
    """
    The usage of an hour or a day.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    The start of the step.
    """
    usage: Usage


class UserInput(BaseModel):
    """
    An input of a user.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    message: Annotated[str, Field(min_length=1)]
    request_id: Name | None = None
    event_id: Name | None = None


class UserSeriesResponse(BaseModel):
    """
    The usage of the chats that a user owns over time.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    user_id: Annotated[str, Field(examples=["user_alice"])]
    from_: Annotated[
        AwareDatetime, Field(alias="from", examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    The start of the first step.
    """
    to: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    The end of the last step.
    """
    step: Step
    points: list[UsagePoint]
    """
    One point for each step, also if nothing happened in it.
    """


class UserUsage(BaseModel):
    """
    The usage of the chats that a user owns.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_alice"])]
    """
    The user; after an erasure, the pseudonym.
    """
    usage: Usage
    points: list[UsagePoint] | None = None
    """
    The usage by the asked step.
    """


class UserWorkflow(BaseModel):
    """
    The usage of the chats of a workflow that a user owns.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    usage: Usage


class Variables(BaseModel):
    """
    The variables of a workflow, by name.
    """

    model_config = ConfigDict(
        extra="allow",
    )


class Verdict(str, Enum):
    """
    Whether a message is what was signed (`signed`), or was stored or changed by a service since (`unsigned`), or was changed in the database without a service (`broken`).
    """

    signed = "signed"
    unsigned = "unsigned"
    broken = "broken"


class VersionChanged(BaseModel):
    """
    With `context`, `artifact` and `chat`: it has changed; read it to get the new one.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: Annotated[int, Field(examples=[3], ge=0)]
    """
    The number of changes so far.
    """


class Visibility(str, Enum):
    """
    Who may find and read a chat, besides its owner and its members: no other user (`private`), its team (`team`), every user of the app who knows the id (`link`), or every user of the app, who also finds it in the list (`app`).
    """

    private = "private"
    team = "team"
    link = "link"
    app = "app"


class Wallet(BaseModel):
    """
    A wallet.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    balance: Annotated[int, Field(examples=[1000])]
    """
    Whole tokens: the sum of all entries.
    """
    entry_count: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of entries.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class WalletEntry(BaseModel):
    """
    An entry of a wallet: one change of its balance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    entry_id: Annotated[str, Field(examples=["top_up_1"])]
    sequence: Annotated[int, Field(examples=[1], ge=0)]
    """
    The position in the wallet, from 0.
    """
    kind: EntryKind
    """
    `initial`, `credit` or `debit`.
    """
    amount: Annotated[int, Field(examples=[1000])]
    """
    Whole tokens, negative for a debit.
    """
    balance: Annotated[int, Field(examples=[1000])]
    """
    The balance afterwards.
    """
    reason: str | None = None
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class WorkflowAgent(BaseModel):
    """
    The usage of an agent.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    total_prompt_tokens: Annotated[int, Field(examples=[1500], ge=0)]
    total_completion_tokens: Annotated[int, Field(examples=[800], ge=0)]
    total_cost_usd: Annotated[float, Field(examples=[0.06])]


class WorkflowChat(BaseModel):
    """
    The duration and usage of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    duration_sec: Annotated[float, Field(examples=[300.0])]
    """
    Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
    """
    prompt_tokens: Annotated[int, Field(examples=[3500], ge=0)]
    completion_tokens: Annotated[int, Field(examples=[1600], ge=0)]
    total_tokens: Annotated[int, Field(examples=[5100], ge=0)]
    cost_total_usd: Annotated[float, Field(examples=[0.18])]
    status: ChatStatus | None = None
    started_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class AgentStats(BaseModel):
    """
    The usage and the percentiles of the calls of an agent.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    agent: Annotated[str | None, Field(examples=["planner"])] = None
    """
    Null for calls without an agent.
    """
    usage: Usage
    percentiles: dict[str, Percentiles]


class AgentUsage(BaseModel):
    """
    The usage of an agent.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    agent: Annotated[str | None, Field(examples=["planner"])] = None
    """
    Null for calls without an agent.
    """
    usage: Usage
    points: list[UsagePoint] | None = None
    """
    The usage by the asked step.
    """


class AppSettings(BaseModel):
    """
    The settings of an app. Where one is null, the setting of the service applies.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    default_visibility: Visibility | None = None
    users_may_run: bool | None = None
    """
    Whether users may run the workflows of their own chats.
    """
    support_access: bool | None = None
    """
    Whether tokens with the role `support` are admitted to chats.
    """
    completed_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days that a completed chat is kept after its last activity; 0 is for ever.
    """
    failed_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days that a failed chat is kept after its last activity; 0 is for ever.
    """
    abandoned_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days that a running or paused chat is kept after its last activity; 0 is for ever.
    """
    deleted_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days that a deleted chat is kept after its deletion; 0 is for ever.
    """
    tool_run_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days that a run of a tool is kept after it was recorded; 0 is for ever.
    """
    archive_after_days: Annotated[int | None, Field(ge=0)] = None
    """
    Days without activity after which an active chat is archived; 0 is never.
    """
    metadata_keys: MetadataKeys | None = None


class AppSettingsChange(BaseModel):
    """
    Changes of settings. A missing setting stays unchanged; with null, the setting of the service applies.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    default_visibility: Visibility | None = None
    users_may_run: bool | None = None
    """
    Whether users may run the workflows of their own chats.
    """
    support_access: bool | None = None
    """
    Whether tokens with the role `support` are admitted to chats.
    """
    completed_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days that a completed chat is kept after its last activity; 0 is for ever.
    """
    failed_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days that a failed chat is kept after its last activity; 0 is for ever.
    """
    abandoned_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days that a running or paused chat is kept after its last activity; 0 is for ever.
    """
    deleted_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days that a deleted chat is kept after its deletion; 0 is for ever.
    """
    tool_run_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days that a run of a tool is kept after it was recorded; 0 is for ever.
    """
    archive_after_days: Annotated[int | None, Field(ge=0, le=36500)] = None
    """
    Days without activity after which an active chat is archived; 0 is never.
    """
    metadata_keys: MetadataKeys | None = None


class Append(RootModel[NewMessage | NewMessages | NewTranscript]):
    root: NewMessage | NewMessages | NewTranscript


class AppendResponse(BaseModel):
    """
    The result of an append.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    last_sequence: Annotated[int, Field(examples=[2], ge=0)]
    """
    The chat's counter afterwards: the sequence of the next message.
    """
    messages: list[Appended]
    """
    One for each message of the request, in order; for a transcript, one for each message it was read as.
    """
    dropped: list[Unread] | None = None
    """
    The parts of a transcript that are not stored; missing without a dialect.
    """
    noted: list[Noted] | None = None
    """
    What the caller should know although everything is stored; missing if there is nothing.
    """


class AppendedTurn(BaseModel):
    """
    The result of a turn.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    request_id: Annotated[str, Field(examples=["req_abc"])]
    duplicate: bool
    """
    Whether the turn was stored before.
    """
    last_sequence: Annotated[int, Field(examples=[2], ge=0)]
    """
    The chat's counter afterwards: the sequence of the next message.
    """
    messages: list[Appended]
    """
    One for each stored message, in order.
    """
    resume_points: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of resume points.
    """
    dropped: list[DroppedOfTurn]
    """
    The parts of the turn that are not stored.
    """
    noted: list[Noted] | None = None
    """
    What the caller should know although everything is stored; missing if there is nothing.
    """


class Artifact(BaseModel):
    """
    An artifact.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    ui_tool_id: Annotated[str | None, Field(examples=["code_editor"])] = None
    """
    The UI tool that shows it.
    """
    event_id: Annotated[str | None, Field(examples=["evt_xyz789"])] = None
    """
    The event that produced it.
    """
    display: Annotated[str | None, Field(examples=["artifact"])] = None
    """
    The place in the user interface.
    """
    workflow_name: Annotated[str | None, Field(examples=["Generator"])] = None
    """
    The workflow that produced it.
    """
    payload: Any
    """
    The data that the tool shows.
    """
    updated_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When it was produced.
    """


class ArtifactResponse(BaseModel):
    """
    The last artifact of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    last_artifact: Artifact | None = None


class Assistant(BaseModel):
    """
    An assistant.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    assistant_id: Annotated[str, Field(examples=["weather_assistant"])]
    user_id: Annotated[str | None, Field(examples=["user_alice_456"])] = None
    """
    The user to whom the assistant belongs; null if it belongs to the app.
    """
    name: Annotated[str, Field(examples=["Weather Assistant"])]
    type: Annotated[str, Field(examples=["assistant"])]
    """
    The kind of assistant, in the words of the app.
    """
    avatar: str | None = None
    """
    The address or the data of a picture.
    """
    description: str | None = None
    connector: str | None = None
    """
    The connector to a model.
    """
    modes: list[str]
    """
    The modes in which the assistant runs; none means every mode.
    """
    default_mode: str | None = None
    """
    The mode in which it runs unless a chat says otherwise.
    """
    tags: list[str]
    sort: Annotated[int, Field(examples=[0])]
    """
    The place of the assistant in lists, smallest first.
    """
    mentionable: bool
    """
    Whether people may mention the assistant in a chat.
    """
    automated: bool
    """
    Whether the assistant runs without a person.
    """
    built_in: bool
    """
    Whether the assistant comes with the app.
    """
    visibility: Visibility
    """
    Who may find and read the assistant, besides its owner.
    """
    team_id: str | None = None
    """
    The team that the assistant is shared with.
    """
    locales: dict[str, Any]
    """
    The texts of other languages, by language tag.
    """
    config: dict[str, Any]
    """
    The settings with which the assistant runs.
    """
    version: Annotated[int, Field(examples=[1], ge=0)]
    """
    Grows with every change, from 1.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class AssistantChange(BaseModel):
    """
    A change of an assistant. A missing field stays as it is. Null clears a field that may be missing, and means the same as
    missing for the others.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Name | None = None
    name: Annotated[str | None, Field(max_length=512, min_length=1)] = None
    """
    1 to 512 characters.
    """
    type: Name | None = None
    avatar: str | None = None
    """
    At most 64 KiB.
    """
    description: str | None = None
    """
    At most 64 KiB.
    """
    connector: Name | None = None
    modes: Annotated[list[Name] | None, Field(max_length=64)] = None
    """
    All of the modes, at most 64.
    """
    default_mode: Name | None = None
    tags: Annotated[list[Name] | None, Field(max_length=64)] = None
    """
    All of the tags, at most 64.
    """
    sort: int | None = None
    mentionable: bool | None = None
    automated: bool | None = None
    built_in: bool | None = None
    visibility: Visibility | None = None
    team_id: Name | None = None
    locales: dict[str, Any] | None = None
    """
    All of the texts, at most 64 KiB.
    """
    config: dict[str, Any] | None = None
    """
    All of the settings, at most 256 KiB.
    """


class CaughtUp(BaseModel):
    """
    With `caught-up`: the state of the chat once the subscriber has everything there is.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    sequence: Annotated[int, Field(examples=[41])]
    """
    The sequence of the last message, -1 for an empty chat.
    """
    revision: Annotated[int, Field(ge=0)]
    """
    The number of edits and deletions of messages so far.
    """
    status: ChatStatus
    """
    `running`, `paused`, `completed` or `failed`.
    """
    status_reason: str | None = None
    """
    Why the chat was paused or failed.
    """
    context_version: Annotated[int, Field(ge=0)]
    """
    The number of times the context snapshot has been written.
    """
    artifact_version: Annotated[int, Field(ge=0)]
    """
    The number of times the last artifact has been replaced or removed.
    """
    session_version: Annotated[int, Field(ge=0)]
    """
    The number of times the chat session itself has been changed, such as its title.
    """
    lifecycle: Lifecycle
    """
    `active` or `archived`.
    """
    pending_inputs: list[str]
    """
    The ids of the pending input requests; an `input-request` event for each follows.
    """


class ChangeResponse(BaseModel):
    """
    The result of a credit or a debit.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    entry: WalletEntry | None = None


class ChatSessionChange(BaseModel):
    """
    A change of a chat session. A missing field stays as it is; null clears it, except for `visibility`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    title: Annotated[str | None, Field(max_length=512)] = None
    """
    At most 512 characters.
    """
    metadata: dict[str, Any] | None = None
    """
    All of the metadata, at most 16 KiB; null is `{}`.
    """
    visibility: Visibility | None = None
    """
    Who may find and read the chat; `team` needs a `team_id`. Every chat has one, so it is not null.
    """
    team_id: Name | None = None
    assistant_id: Name | None = None
    sort: int | None = None
    """
    The place of the chat in lists that are sorted by it; null is 0.
    """
    system_prompt: Annotated[str | None, Field(max_length=16384)] = None
    """
    The instructions for the model, which callers put before the messages; at most 16 KiB.
    """


class ChatStats(BaseModel):
    """
    The duration and usage of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    status: ChatStatus | None = None
    started_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    duration_sec: Annotated[float, Field(examples=[300.0])]
    """
    Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
    """
    usage: Usage


class Checkpoint(BaseModel):
    """
    The signed state of the messages of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    commitments: Annotated[int, Field(examples=[312], ge=0)]
    """
    How many commitments there are: one for each message, and one for each change of a message.
    """
    messages: Annotated[int, Field(examples=[300], ge=0)]
    """
    How many messages the chat had.
    """
    revision: Annotated[int, Field(examples=[12])]
    """
    The revision up to which changes of messages are signed.
    """
    root: str
    """
    The hash over all commitments: SHA-256, in hexadecimal digits.
    """
    signed_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    signed: str
    """
    All of this, the app and the chat as a JSON Web Signature (RFC 7515) of Ed25519.
    """


class Checks(BaseModel):
    """
    The checks that readiness consists of.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    store: StoreCheck
    """
    `ok`, `unavailable`, `starting` while the service fetches or starts its own database, or `not-a-replica-set` for a
    server that must become a replica set first.
    """
    live: LiveCheck
    """
    How live chats learn of changes by other processes: `change_stream`, or `polling` if it cannot be opened.
    """


class ConsumeRequest(BaseModel):
    """
    Tokens to debit.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[
        str,
        Field(
            examples=["acme_corp"],
            max_length=64,
            min_length=1,
            pattern="^[A-Za-z0-9_-]+$",
        ),
    ]
    """
    The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    """
    amount: Annotated[int, Field(le=1000000000000)]
    """
    Whole tokens; 0 or less debits nothing.
    """
    reason: str | None = None
    """
    At most 256 characters; `manual_consume` by default.
    """
    entry_id: Name | None = None


class ContextVersion(BaseModel):
    """
    A version of the context snapshot, without its variables.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: Annotated[int, Field(examples=[3], ge=0)]
    """
    The number of the version, from 1.
    """
    sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The chat's counter when the snapshot was written: it reflects the messages below this sequence.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    bytes: Annotated[int, Field(examples=[64], ge=0)]
    """
    The size of the variables, in bytes.
    """


class CreateChatRequest(BaseModel):
    """
    A chat session to create.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: ChatId | None = None
    workflow_name: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    An id or a name: 1 to 128 visible characters, without blanks at its ends.
    """
    user_id: Name | None = None
    team_id: Name | None = None
    visibility: Visibility | None = None
    cache_seed: Annotated[int | None, Field(ge=0, le=4294967295)] = None
    """
    Derived from app and chat if missing.
    """
    title: Annotated[str | None, Field(max_length=512)] = None
    """
    At most 512 characters.
    """
    metadata: dict[str, Any] | None = None
    """
    At most 16 KiB.
    """
    assistant_id: Name | None = None
    sort: int | None = None
    """
    The place of the chat in lists that are sorted by it; 0 if missing.
    """
    system_prompt: Annotated[str | None, Field(max_length=16384)] = None
    """
    The instructions for the model, which callers put before the messages; at most 16 KiB.
    """


class CreatedAssistant(Assistant):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreatedChangeResponse(ChangeResponse):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreatedWallet(Wallet):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreditRequest(BaseModel):
    """
    Tokens to credit.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    entry_id: Name | None = None
    amount: Annotated[int, Field(ge=1, le=1000000000000)]
    """
    Whole tokens.
    """
    reason: str | None = None
    """
    At most 256 characters.
    """


class DebitRequest(BaseModel):
    """
    Tokens to debit.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    entry_id: Name | None = None
    amount: Annotated[int, Field(ge=1, le=1000000000000)]
    """
    Whole tokens.
    """
    reason: str | None = None
    """
    At most 256 characters.
    """
    strict: bool | None = True
    """
    Whether a balance that is too low is refused; otherwise `entry` is null then.
    """


class Document(BaseModel):
    """
    What is known of a document besides its content.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    path: Annotated[str, Field(examples=["notes/plan.md"])]
    chat_id: str | None = None
    """
    The chat of the document; null if it is of none.
    """
    user_id: str | None = None
    """
    The user to whom the document belongs; null if it belongs to the app.
    """
    visibility: Visibility
    """
    Who may read a document of no chat, besides its owner.
    """
    team_id: str | None = None
    """
    The team that the document is shared with.
    """
    content_type: Annotated[str, Field(examples=["text/markdown"])]
    size: Annotated[int, Field(examples=[2048], ge=0)]
    """
    The size of the content, in bytes.
    """
    version: Annotated[int, Field(examples=[1], ge=0)]
    """
    Grows with every write, from 1.
    """
    entity_tag: Annotated[
        str, Field(examples=["content_0198d4b27c1e7a3b9f552f6c1d0e8a41-1"])
    ]
    """
    The `ETag`, without quotation marks. What stands before its last `-` stays the same as long as the content only grows.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    expires_at: AwareDatetime | None = None


class DocumentEvent(BaseModel):
    """
    The `data` of an event.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    path: DocumentPath | None = None
    version: Annotated[int | None, Field(examples=[3], ge=0)] = None
    """
    The version of a document that has changed, or a later one.
    """


class Erasure(BaseModel):
    """
    The erasure of a person from an app. It names the person by the pseudonym alone.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    pseudonym: Annotated[
        str,
        Field(
            examples=[
                "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
            ],
            max_length=64,
            min_length=1,
            pattern="^[0-9a-f]{64}$",
        ),
    ]
    """
    What stands for the person in the audit log; `erased_` and the pseudonym stands for their user id.
    """
    begun_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    finished_at: AwareDatetime | None = None
    searched: Annotated[int, Field(ge=0)]
    """
    How many chats were searched. Each is searched twice.
    """
    erased: dict[str, ErasedAdditionalProperty]
    """
    How many records were erased or anonymised, by kind.
    """
    held: list[ChatId]
    """
    The chats that were left as they are, because they are under hold or are shown by a fork that is.
    """
    remains: str
    """
    Where overwritten text stays for a while, and what ends that.
    """
    signed: str | None
    """
    Once it is finished, this object without `signed`, as a JSON Web Signature (RFC 7515, in compact form, by Ed25519).
    Stays null if the service has no key for receipts: the receipt is unsigned.
    """


class ForkRequest(BaseModel):
    """
    A fork to create; its source is in the path.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: ChatId | None = None
    sequence: Annotated[int | None, Field(ge=0)] = None
    """
    Messages with a sequence below this are shared with the fork; all messages if missing.
    """
    title: Annotated[str | None, Field(max_length=512)] = None
    """
    At most 512 characters.
    """
    metadata: dict[str, Any] | None = None
    """
    At most 16 KiB.
    """
    user_id: Name | None = None
    cache_seed: Annotated[int | None, Field(ge=0, le=4294967295)] = None
    """
    Derived from app and chat if missing.
    """


class GroupCount(BaseModel):
    """
    How many chats of a page are in a time group.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    group: TimeGroup
    count: Annotated[int, Field(examples=[3], ge=0)]


class HeldChat(BaseModel):
    """
    A chat under hold.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[
        str,
        Field(
            examples=["chat_abc123def456"],
            max_length=128,
            min_length=1,
            pattern="^[A-Za-z0-9_][A-Za-z0-9_.:-]*$",
        ),
    ]
    """
    The chat.
    """
    reason: Annotated[str, Field(examples=["dispute 7"])]
    """
    Why, for operators.
    """
    since: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the hold began, or when its reason was changed.
    """


class HistoryEnd(BaseModel):
    """
    The last line. If it is missing, the response was aborted.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    complete: bool
    """
    Always true; no message has this field.
    """
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    dialect: Dialect
    message_count: Annotated[int, Field(ge=0)]
    """
    The number of messages: the lines before this one.
    """
    dropped: list[Dropped]
    """
    The messages that do not fit the dialect.
    """
    last_sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
    """
    repaired: list[Repaired] | None = None
    """
    The messages that were changed to fit the dialect; missing if there are none.
    """
    names: dict[str, str] | None = None
    """
    The original of each name that was replaced; missing if there are none.
    """
    ids: dict[str, str] | None = None
    """
    The original of each call id that was replaced; missing if there are none.
    """
    system: list[Any] | None = None
    """
    The system instructions, for dialects that keep them apart from the messages; missing if there are none.
    """


class HistoryLine(RootModel[HistoryMessage | HistoryEnd]):
    root: HistoryMessage | HistoryEnd


class HistoryResponse(BaseModel):
    """
    A conversation in the dialect that an orchestrator resumes from.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    dialect: Dialect
    messages: Annotated[
        list[dict[str, Any]],
        Field(
            examples=[
                [{"role": "user", "name": "user", "content": "Create a todo app"}]
            ]
        ),
    ]
    """
    The messages, oldest first; in `ag2` exactly `role`, `name` and `content`.
    """
    dropped: list[Dropped]
    """
    The messages that do not fit the dialect.
    """
    last_sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
    """
    repaired: list[Repaired] | None = None
    """
    The messages that were changed to fit the dialect; missing if there are none.
    """
    names: dict[str, str] | None = None
    """
    The original of each name that was replaced; missing if there are none.
    """
    ids: dict[str, str] | None = None
    """
    The original of each call id that was replaced; missing if there are none.
    """
    system: list[Any] | None = None
    """
    The system instructions, for dialects that keep them apart from the messages; missing if there are none.
    """


class HitResponse(BaseModel):
    """
    A message that was found.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[
        str,
        Field(
            examples=["chat_abc123def456"],
            max_length=128,
            min_length=1,
            pattern="^[A-Za-z0-9_][A-Za-z0-9_.:-]*$",
        ),
    ]
    """
    The chat of the message.
    """
    title: str | None = None
    """
    The title of the chat.
    """
    sequence: Annotated[int, Field(ge=0)]
    """
    The position of the message in the chat.
    """
    role: str
    """
    The role of the message.
    """
    name: str | None = None
    """
    The name of the speaker.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the message was stored.
    """
    snippet: str
    """
    The part of the message that has the words, in one line. `…` stands for what is left out.
    """
    positions: list[list[Position]]
    """
    Where the snippet has the words: pairs of the first character and the one after the last, counted from 0.
    """


class Hold(BaseModel):
    """
    A hold of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    reason: Annotated[str, Field(examples=["dispute 7"])]
    """
    Why, for operators.
    """
    since: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the hold began, or when its reason was changed.
    """


class InputRequest(BaseModel):
    """
    A question that a workflow waits for, or has waited for.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    request_id: Annotated[str, Field(examples=["input_0198d4b2"])]
    state: InputState
    """
    `pending`, `answered`, `cancelled`, `expired` or `chat_ended`.
    """
    prompt: Annotated[str, Field(examples=["Which database?"])]
    """
    The question as shown to people.
    """
    agent: Annotated[str | None, Field(examples=["architect"])] = None
    """
    The agent that asks.
    """
    kind: InputKind
    """
    What counts as an answer: `text`, `choice` or `confirm`.
    """
    options: Annotated[list[str], Field(examples=[["MongoDB", "SQLite"]])]
    """
    The answers to choose from.
    """
    tool_call: BoundToolCall | None = None
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    expires_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None
    reason: str | None = None
    """
    Why the request was cancelled, or how the chat ended.
    """
    answer: InputAnswer | None = None


class KeptContextResponse(ContextVersion):
    """
    One version of the context snapshot.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    context_snapshot: dict[str, Any]
    """
    The variables.
    """


class LastTurn(BaseModel):
    """
    A stored turn.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    request_id: Annotated[str, Field(examples=["req_abc"])]
    outcome: TurnOutcome
    """
    `completed`, `interrupted` or `failed`.
    """
    turn: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of the turn in the chat, from 1.
    """


class LeaseHolder(BaseModel):
    """
    The holder of a lease.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    owner: Annotated[str, Field(examples=["orchestrator-7"])]
    acquired_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    expires_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the lease expires: from then on another owner can acquire it.
    """


class LeaseState(BaseModel):
    """
    The lease of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    lease: LeaseHolder | None = None


class ListChatStatsResponse(BaseModel):
    """
    A page of a workflow's chats.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chats: list[ChatStats]
    next_cursor: str | None = None
    """
    The cursor of the next page; null on the last page.
    """


class ListUserStatsResponse(BaseModel):
    """
    A page of users.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    users: list[UserUsage]
    next_cursor: str | None = None
    """
    The cursor of the next page; null on the last page.
    """


class ListedDocument(Document):
    """
    A document of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    content: Any = None
    content_base64: str | None = None
    """
    The content in base64, if it is not such JSON, was asked for and has at most 1 MiB.
    """


class Member(BaseModel):
    """
    A member of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_bob_789"])]
    role: MemberRole
    """
    `member` (may read and say) or `reader` (may read).
    """


class Message(BaseModel):
    """
    A message, with those of the optional fields `tool_calls`, `tool_call_id`, … that it has.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    __annotations__ = {
        "__pydantic_extra__": Dict[str, Any],
    }
    sequence: Annotated[int, Field(examples=[1], ge=0)]
    """
    The position in the chat, from 0, without gaps.
    """
    event_id: Annotated[str, Field(examples=["evt_msg_001"])]
    role: Annotated[str, Field(examples=["assistant"])]
    name: Annotated[str | None, Field(examples=["interviewer"])] = None
    """
    The speaker.
    """
    content: Any
    """
    Any JSON value, mostly text.
    """
    timestamp: Annotated[str, Field(examples=["2025-10-02T10:00:05.000Z"])]
    """
    The caller's own time; the time of storing if none was given.
    """
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    metadata: dict[str, Any] | None = None
    author: Author | None = None
    edited_at: AwareDatetime | None = None
    edited_by: Annotated[str | None, Field(examples=["user_alice_456"])] = None
    """
    The person who last edited the message; missing if a service did.
    """
    deleted_at: AwareDatetime | None = None
    deleted_by: Annotated[str | None, Field(examples=["user_alice_456"])] = None
    """
    The person who deleted the message; missing if a service did.
    """
    text_is_kept: bool | None = None
    """
    True while the text of this deleted message is still stored, because another chat (a fork, or the source of this one)
    shares the message and has not deleted it; otherwise missing.
    """


class MessageEdit(BaseModel):
    """
    An edit of a message, with at least one field. Missing fields are not changed; a null field counts as missing, except
    `content`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    content: Any | None = None
    """
    The new content; null is a value too.
    """
    name: str | None = None
    """
    The new speaker.
    """
    metadata: dict[str, Any] | None = None
    """
    The new metadata, which replaces all of the old.
    """
    props: Any | None = None
    """
    The new properties, which replace all of the old.
    """
    type: Name | None = None


class MessageProof(BaseModel):
    """
    Whether a message is what was signed.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    verdict: Verdict
    """
    `signed`, `unsigned` or `broken`.
    """
    checkpoint: Checkpoint | None = None
    inclusion: MessageInclusion | None = None


class MessagesToDelete(BaseModel):
    """
    The messages to delete.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    event_ids: Annotated[list[Name], Field(max_length=100)]
    """
    The ids of at most 100 messages.
    """


class ModelStats(BaseModel):
    """
    The usage and the percentiles of the calls of a model.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    provider: Annotated[str | None, Field(examples=["anthropic"])] = None
    model: Annotated[str | None, Field(examples=["claude-sonnet-4"])] = None
    usage: Usage
    percentiles: dict[str, Percentiles]


class ModelUsage(BaseModel):
    """
    The usage of a model.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    provider: Annotated[str | None, Field(examples=["anthropic"])] = None
    model: Annotated[str | None, Field(examples=["claude-sonnet-4"])] = None
    usage: Usage
    points: list[UsagePoint] | None = None
    """
    The usage by the asked step.
    """


class NewArtifact(BaseModel):
    """
    An artifact to store; strings of at most 256 characters.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    ui_tool_id: str | None = None
    """
    The UI tool that shows it.
    """
    event_id: str | None = None
    """
    The event that produced it.
    """
    display: str | None = None
    """
    The place in the user interface.
    """
    workflow_name: str | None = None
    """
    The workflow that produced it.
    """
    payload: Any | None = None
    """
    The data that the tool shows, at most 8 MiB.
    """
    updated_at: AwareDatetime | None = None


class NewAssistant(BaseModel):
    """
    An assistant to store. What is missing gets its default, except for the owner.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Name | None = None
    name: Annotated[str, Field(max_length=512, min_length=1)]
    """
    1 to 512 characters.
    """
    type: Name | None = None
    avatar: str | None = None
    """
    The address or the data of a picture, at most 64 KiB.
    """
    description: str | None = None
    """
    At most 64 KiB.
    """
    connector: Name | None = None
    modes: Annotated[list[Name] | None, Field(max_length=64)] = None
    """
    At most 64; none means every mode.
    """
    default_mode: Name | None = None
    tags: Annotated[list[Name] | None, Field(max_length=64)] = None
    """
    At most 64.
    """
    sort: int | None = None
    mentionable: bool | None = None
    automated: bool | None = None
    built_in: bool | None = None
    visibility: Visibility | None = None
    """
    Who may find and read the assistant, besides its owner; `private` by default. `team` needs a `team_id`.
    """
    team_id: Name | None = None
    locales: dict[str, Any] | None = None
    """
    An object of texts for each language tag, at most 64 KiB.
    """
    config: dict[str, Any] | None = None
    """
    Any settings, at most 256 KiB.
    """


class NewInputAnswer(BaseModel):
    """
    An answer to an input request.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    event_id: Name | None = None
    name: str | None = None
    """
    The name of the person who answers; the caller if missing.
    """
    author: NewAuthor | None = None
    content: Any
    """
    The answer; its type depends on the kind of the question.
    """
    tool_call: ToolCallRef | None = None


class NewProviderCall(BaseModel):
    """
    A call to record; names of at most 128 characters, numbers of at most 1,000,000,000.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    call_id: Name | None = None
    agent: str | None = None
    """
    The agent that made the call.
    """
    requested_provider: str | None = None
    """
    The requested provider.
    """
    requested_model: str | None = None
    """
    The requested model.
    """
    provider: str | None = None
    """
    The provider that answered. If both this and `model` are missing, the requested ones are assumed.
    """
    model: str | None = None
    """
    The model that answered.
    """
    provider_kind: str | None = None
    """
    The kind of the provider that answered, such as `cloud`.
    """
    prompt_tokens: Annotated[int | None, Field(ge=0, le=1000000000)] = None
    completion_tokens: Annotated[int | None, Field(ge=0, le=1000000000)] = None
    total_tokens: Annotated[int | None, Field(ge=0, le=1000000000)] = None
    """
    At least `prompt_tokens` + `completion_tokens`, which is the default.
    """
    cost_micros_usd: Annotated[int | None, Field(ge=0)] = None
    """
    The cost in millionths of a US dollar, at most a million dollars; 0 if missing.
    """
    cost_usd: Annotated[str | None, Field(examples=["0.001234"])] = None
    """
    The cost in US dollars, with at most six decimals; an alternative to `cost_micros_usd`.
    """
    duration_ms: Annotated[int | None, Field(ge=0, le=1000000000)] = None
    """
    The duration, in milliseconds.
    """
    request_id: str | None = None
    """
    The request id that the provider or gateway assigned.
    """
    called_at: AwareDatetime | None = None


class NewProviderCalls(BaseModel):
    """
    Several calls to record atomically.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    calls: Annotated[list[NewProviderCall], Field(max_length=1000, min_length=1)]
    """
    1 to 1,000 calls.
    """


class NewRevocation(BaseModel):
    """
    Which tokens are revoked.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    issued_until: AwareDatetime | None = None


class NewStep(BaseModel):
    """
    A step of a turn.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: StepType
    status: StepStatus
    """
    A `running` step gets the outcome of its turn.
    """
    assistant_id: str | None = None
    """
    The assistant that runs the step.
    """
    stack_id: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    The call in the call stack that the step belongs to.
    """
    stack_parent_id: Name | None = None
    stack_depth: Annotated[int | None, Field(ge=0)] = None
    """
    The depth of that call: 0 for the outermost.
    """
    input: dict[str, Any] | None = None
    """
    The input of the step.
    """
    output: dict[str, Any] | None = None
    """
    The output of the step so far.
    """
    space_snapshot: dict[str, Any] | None = None
    """
    The shared space at the start of the step.
    """
    error: str | None = None
    """
    The error message, at most 16 KiB.
    """
    metadata: dict[str, Any] | None = None
    """
    Data of the caller that is stored with the step.
    """


class NewStream(BaseModel):
    """
    A stream to start.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stream_id: ChatId | None = None
    format: StreamFormat
    agent: Name | None = None
    request_id: Name | None = None


class NewTicket(BaseModel):
    """
    The user for whom a ticket is: the caller, or the user that a service names.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Name | None = None
    team_id: Name | None = None
    permissions: list[TicketPermission] | None = None
    """
    What the connection may use of the permissions of that user: `["read"]`, or `["read", "say"]`. All of them if
    missing.
    """


class NewToolRun(BaseModel):
    """
    A run of a tool to record.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    run_id: Name | None = None
    tool_name: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    The tool.
    """
    agent: Name | None = None
    tool_call_id: Name | None = None
    parameters: Any | None = None
    """
    What the tool was given, at most 256 KiB.
    """
    result: Any | None = None
    """
    What the tool returned, at most 256 KiB.
    """
    is_success: bool | None = None
    """
    Whether the tool succeeded; by default whether it has no `error`.
    """
    error: str | None = None
    """
    Why the tool failed, at most 16 KiB.
    """
    execution_time_ms: Annotated[int | None, Field(ge=0, le=1000000000)] = None
    """
    The duration, in milliseconds.
    """
    metadata: dict[str, Any] | None = None
    """
    Any data about the run, at most 16 KiB.
    """
    started_at: AwareDatetime | None = None


class NewToolRuns(BaseModel):
    """
    Several runs of tools to record atomically.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    runs: Annotated[list[NewToolRun], Field(max_length=1000, min_length=1)]
    """
    1 to 1,000 runs, of 8 MiB together.
    """


class NewTurn(BaseModel):
    """
    A finished turn.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    request_id: Name | None = None
    outcome: TurnOutcome
    connector: str | None = None
    """
    The model connector that was used last.
    """
    mode: str | None = None
    """
    The mode of the turn, such as `chat` or `task`.
    """
    messages: Annotated[list[TurnMessage] | None, Field(max_length=10000)] = None
    """
    At most 10,000 messages, together at most 64 MiB, in order. A message may have a `message_id` that is
    unique within the turn, and be followed by deltas.
    """
    steps: Annotated[list[NewStep] | None, Field(max_length=1000)] = None
    """
    At most 1,000 steps, together at most 8 MiB, in the order in which they started.
    """


class OneOrSeveralNewProviderCalls(RootModel[NewProviderCall | NewProviderCalls]):
    root: NewProviderCall | NewProviderCalls
    """
    One call, or several in `calls`.
    """


class OneOrSeveralNewToolRuns(RootModel[NewToolRun | NewToolRuns]):
    root: NewToolRun | NewToolRuns
    """
    One run, or several in `runs`.
    """


class PageAssistant(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[Assistant]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageContextVersion(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ContextVersion]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageHeldChat(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[HeldChat]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageHitResponse(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[HitResponse]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageInputRequest(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[InputRequest]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageListedDocument(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ListedDocument]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageMember(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[Member]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageMessage(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[Message]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageToolRun(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ToolRun]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageWalletEntry(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[WalletEntry]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class Participant(BaseModel):
    """
    A participant of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    display_name: Annotated[str | None, Field(examples=["Alice"])] = None
    """
    The display name, if one was given.
    """
    joined_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class PendingInputRequest(InputRequest):
    """
    A pending input request, and what the caller may do with its chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    permissions: list[ChatPermission] | None = None
    """
    What the caller may do with the chat, as far as its status allows it; only with `permissions=true`.
    """


class Point(Events):
    """
    The statistics of an hour or a day.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    The start of the step.
    """
    usage: Usage
    percentiles: dict[str, Percentiles]
    """
    Percentiles of the calls made, and of the chats ended, in this step.
    """


class Present(BaseModel):
    """
    A person who is present.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[str, Field(examples=["user_alice_456"])]
    display_name: Annotated[str | None, Field(examples=["Alice"])] = None
    """
    The display name, if the person is a participant and has one.
    """
    since: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    connections: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of open connections.
    """


class Problem(BaseModel):
    """
    A problem document (RFC 9457).
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: Annotated[str, Field(examples=["/problems/event-conflict"])]
    """
    The kind of problem: the address of a page about it, relative to that of the service.
    """
    code: ProblemCode
    """
    The kind of problem: the last part of `type`, which never changes.
    """
    title: str
    """
    The kind of problem as a phrase. Match on `code`, never on this.
    """
    status: Annotated[int, Field(ge=0)]
    """
    The HTTP status.
    """
    detail: str
    """
    What was wrong with this request, and what to do.
    """
    http_request_id: str
    """
    The id of the HTTP request in the log of the service, as in the header `x-request-id`.
    """
    errors: list[FieldError] | None = None
    """
    The parts of the request that were refused.
    """
    event_id: str | None = None
    """
    With `event-conflict`: the id that was repeated with another body.
    """
    sequence: Annotated[int | None, Field(ge=0)] = None
    """
    With `event-conflict`: the message that has that id.
    """
    last_sequence: Annotated[int | None, Field(ge=0)] = None
    """
    With `sequence-conflict`: the number of messages that the chat has.
    """
    balance: int | None = None
    """
    With `insufficient-tokens`: the balance of the wallet.
    """
    amount: int | None = None
    """
    With `insufficient-tokens`: the requested amount.
    """
    input_request: InputRequest | None = None
    holder: LeaseHolder | None = None
    unsettled_calls: list[UnsettledCall] | None = None
    """
    With `unsettled-tool-calls`: the calls without results.
    """


class ProviderCall(BaseModel):
    """
    A call of a model provider.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    call_id: Annotated[str, Field(examples=["call_0198d4b2"])]
    agent: Annotated[str | None, Field(examples=["interviewer"])] = None
    """
    The agent that made the call.
    """
    requested_provider: Annotated[str | None, Field(examples=["anthropic"])] = None
    """
    The requested provider.
    """
    requested_model: Annotated[str | None, Field(examples=["claude-sonnet-4"])] = None
    """
    The requested model.
    """
    provider: Annotated[str | None, Field(examples=["anthropic"])] = None
    """
    The provider that answered.
    """
    model: Annotated[str | None, Field(examples=["claude-sonnet-4"])] = None
    """
    The model that answered.
    """
    provider_kind: Annotated[str | None, Field(examples=["cloud"])] = None
    """
    The kind of the provider that answered.
    """
    prompt_tokens: Annotated[int, Field(examples=[12], ge=0)]
    completion_tokens: Annotated[int, Field(examples=[4], ge=0)]
    total_tokens: Annotated[int, Field(examples=[16], ge=0)]
    cost_micros_usd: Annotated[int, Field(examples=[1234], ge=0)]
    """
    The cost, in millionths of a US dollar.
    """
    cost_usd: Annotated[str, Field(examples=["0.001234"])]
    """
    The same amount in US dollars.
    """
    duration_ms: Annotated[int, Field(examples=[850], ge=0)]
    """
    The duration, in milliseconds.
    """
    request_id: Annotated[str | None, Field(examples=["req_7f3a"])] = None
    """
    The request id that the provider or gateway assigned.
    """
    called_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the call was made.
    """


class ReadyResponse(BaseModel):
    """
    The readiness of the service. The reason for a failed check is in the log only.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: Readiness
    """
    `ready`, `unavailable`, or `stopping` once the process was asked to stop.
    """
    checks: Checks


class RecordedCall(ProviderCall):
    """
    A call, and whether it was recorded before.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether the call was recorded before; a duplicate is not counted again.
    """


class RecordedToolRun(ToolRun):
    """
    A run, and whether it was recorded before.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether the run was recorded before.
    """


class ResumePoint(BaseModel):
    """
    An unfinished step, from which a turn can be resumed.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    request_id: Annotated[str, Field(examples=["req_abc"])]
    """
    The id of its turn.
    """
    turn: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of the turn in the chat, from 1.
    """
    sequence: Annotated[int, Field(examples=[5], ge=0)]
    """
    The number of the step in its turn, from 1.
    """
    type: StepType
    """
    `input`, `hook_create`, `llm`, `tool`, `hook_next` or `delegate`.
    """
    status: StepStatus
    """
    `interrupted` or `failed`.
    """
    assistant_id: Annotated[str | None, Field(examples=["visualizer"])] = None
    stack_id: Annotated[str, Field(examples=["stk_002"])]
    stack_parent_id: Annotated[str | None, Field(examples=["stk_001"])] = None
    stack_depth: Annotated[int, Field(examples=[1], ge=0)]
    input: dict[str, Any] | None = None
    """
    The input of the step.
    """
    output: dict[str, Any] | None = None
    """
    The output of the step so far.
    """
    space_snapshot: dict[str, Any]
    """
    The shared space at the start of the step.
    """
    error: str | None = None
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class Revocation(BaseModel):
    """
    A revocation of the tokens of a user in an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    issued_until: AwareDatetime | None = None
    revoked_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When the tokens were last revoked.
    """
    expires_at: AwareDatetime | None = None


class SearchResponse(PageHitResponse):
    """
    A page of messages that were found, the newest first.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    partial: bool
    """
    Whether there may be messages that were not looked at. With a `next_cursor`, the next page goes on there.
    """
    behind_ms: Annotated[int | None, Field(ge=0)] = None
    """
    How far the index is behind the messages, in milliseconds, at most; null if it was never complete.
    """


class SeriesResponse(BaseModel):
    """
    The statistics of a workflow over time.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    from_: Annotated[
        AwareDatetime, Field(alias="from", examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    The start of the first step.
    """
    to: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    The end of the last step.
    """
    step: Step
    points: list[Point]
    """
    One point for each step, also if nothing happened in it.
    """


class SignedIn(BaseModel):
    """
    A person who is signed in.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: Annotated[
        str,
        Field(
            examples=["user_alice_456"],
            max_length=128,
            min_length=1,
            pattern="^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$",
        ),
    ]
    """
    The person.
    """
    role: PersonRole
    """
    `user`, `support` or `operator`.
    """
    apps: list[AppId] | None = None
    """
    The apps that the person may use; null for all.
    """
    expires_at: AwareDatetime | None = None
    csrf_token: str
    """
    What requests that change something must send in the header `x-csrf-token`.
    """


class Stack(BaseModel):
    """
    The call stack of a call.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    stack_id: Annotated[str, Field(examples=["stk_002"])]
    stack_path: Annotated[list[str], Field(examples=[["stk_001", "stk_002"]])]
    """
    The ids of the calls, outermost first.
    """
    resume_points: list[ResumePoint]
    """
    The resume points of these calls, in order of their steps.
    """


class StepToRun(ResumePoint):
    """
    A step to run again.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stack_path: Annotated[
        list[str] | None, Field(examples=[["stk_001", "stk_002"]])
    ] = None
    """
    The call stack of the step, outermost call first; null if it is incomplete.
    """
    stack_error: str | None = None
    """
    Why the call stack is incomplete.
    """


class Stream(BaseModel):
    """
    An answer that an agent is producing, or has produced within the hour.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    stream_id: Annotated[str, Field(examples=["stream_0198d4b2"])]
    format: StreamFormatName
    agent: Annotated[str | None, Field(examples=["writer"])] = None
    """
    The agent that produces it.
    """
    request_id: Annotated[str | None, Field(examples=["req_abc"])] = None
    """
    The turn that it becomes part of.
    """
    state: StreamState
    attempt: Annotated[int, Field(examples=[1], ge=0)]
    """
    How often an agent began to produce the answer. When it grows, the chunks so far are void.
    """
    next: Annotated[int, Field(examples=[12], ge=0)]
    """
    The position of the next chunk: the number of chunks of this attempt.
    """
    group: Annotated[int, Field(examples=[3], ge=0)]
    """
    The number of the last write of the stream, from 0.
    """
    bytes: Annotated[int, Field(examples=[640], ge=0)]
    """
    The size of all chunks, in bytes; at most 16 MiB.
    """
    cancel_requested: bool
    """
    Whether its agent was asked to stop.
    """
    stalled: bool
    """
    Whether it is running, and its agent has written nothing for 30 s: the agent is lost, and the next holder of the lease may
    take the stream over.
    """
    error: str | None = None
    """
    Why it failed, or how the end of its chat cancelled it.
    """
    last_sequence: Annotated[int | None, Field(examples=[2], ge=0)] = None
    """
    The counter of the chat after the turn that it became, if it became one.
    """
    started_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    written_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    When its agent last wrote it, or when it ended.
    """


class StreamEnd(BaseModel):
    """
    How a stream ends.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    state: StreamEndState
    error: str | None = None
    """
    Why it failed, at most 4 KiB.
    """
    store: bool | None = None
    """
    Whether the messages that the chunks make are stored as a turn; by default unless the stream failed.
    """


class StreamTakeover(BaseModel):
    """
    How a stream is taken over.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode: TakeoverMode
    attempt: Annotated[int | None, Field(ge=1)] = None
    """
    Of a restart, the `attempt` of the stream whose chunks are void then. With it the request is idempotent: without it, a
    repeat also voids what was added since.
    """


class Streams(BaseModel):
    """
    The streams of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    streams: list[Stream]
    """
    Latest first: those that are running, and those that ended within the hour.
    """


class Summary(BaseModel):
    """
    The statistics of a workflow, or of all workflows of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chats: Annotated[int, Field(examples=[2], ge=0)]
    """
    The number of chats that were ever created.
    """
    statuses: Statuses
    events: Events
    error_rate: Annotated[float | None, Field(examples=[0.0])] = None
    """
    The failed chats divided by all chats that have ended; null if none has ended.
    """
    usage: Usage


class Ticket(BaseModel):
    """
    A ticket to a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    ticket: Annotated[
        str, Field(examples=["8mJ1v0kPp4m2lq3Yw1f3cQ7cEo6a2mXn5tq0sJkV9bE"])
    ]
    """
    The value of the query parameter `ticket`; valid for one connection.
    """
    expires_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    The connection must be opened before this time.
    """


class ToolStats(BaseModel):
    """
    The sums of runs of tools.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    total: ToolSums
    """
    All runs.
    """
    tools: list[ToolUsage]
    """
    The 1,000 tools with the most runs, those first.
    """
    other_tools: Annotated[int, Field(ge=0)]
    """
    The number of tools that are not listed.
    """


class UserStatsResponse(BaseModel):
    """
    The usage of the chats that a user owns.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    user_id: Annotated[str, Field(examples=["user_alice"])]
    usage: Usage
    workflows: list[UserWorkflow]
    """
    The workflows with calls, ordered by name.
    """


class WorkflowStatsResponse(Summary):
    """
    The statistics and the cost of a workflow.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    field_id: Annotated[str, Field(alias="_id", examples=["mon_acme_corp_Generator"])]
    """
    `mon_{app_id}_{workflow_name}`, for existing readers; two workflows may share it.
    """
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    last_updated_at: AwareDatetime | None = None
    overall_avg: OverallAvg
    chat_sessions: dict[str, WorkflowChat]
    """
    The newest chats, by id.
    """
    next_cursor: str | None = None
    """
    The cursor for further chats, at `chats?cursor=`; null if these are all.
    """
    agents: dict[str, WorkflowAgent]
    """
    The usage of agents, by name; calls without an agent are only in `top_agents`.
    """
    percentiles: dict[str, Percentiles]
    """
    Percentiles of durations, tokens and costs, of chats and of calls.
    """
    top_agents: list[AgentStats]
    """
    Agents, highest cost first.
    """
    top_models: list[ModelStats]
    """
    Models, highest cost first.
    """


class WorkflowSummary(Summary):
    """
    The statistics of a workflow.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    last_updated_at: AwareDatetime | None = None
    hourly: Hourly


class AgentStatsResponse(BaseModel):
    """
    The usage of the agents of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    agents: list[AgentUsage]
    has_more: bool
    """
    Whether there are more than the limit.
    """


class AnsweredInput(BaseModel):
    """
    An answered input request.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    input_request: InputRequest
    message: Appended
    """
    The message that the answer became.
    """
    last_sequence: Annotated[int, Field(examples=[5], ge=0)]
    """
    The chat's counter afterwards: the sequence of the next message.
    """


class App(BaseModel):
    """
    A registered app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    status: AppStatus
    """
    `enabled` or `disabled`.
    """
    settings: AppSettings
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """


class AppChange(BaseModel):
    """
    A change of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    settings: AppSettingsChange


class AppStatsResponse(Summary):
    """
    The statistics of the workflows of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    hours: list[AwareDatetime]
    """
    The starts of the last 24 hours; the current hour is the last.
    """
    workflows: list[WorkflowSummary]
    """
    The workflows, ordered by name.
    """


class AppSummary(Summary):
    """
    The statistics of all workflows of an app together.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]


class AppToolStatsResponse(ToolStats):
    """
    The sums of the runs of the tools of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    app_id: Annotated[str, Field(examples=["acme_corp"])]


class ChatMeta(BaseModel):
    """
    Everything that a client needs to join a running chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123"])]
    app_id: str
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    user_id: str | None = None
    team_id: str | None = None
    visibility: Visibility
    """
    `app`, `team` or `private`.
    """
    cache_seed: Annotated[int, Field(examples=[2847561923], ge=0, le=4294967295)]
    status: Annotated[int, Field(examples=[1], ge=1, le=4)]
    """
    1 running, 2 paused, 3 completed, 4 failed.
    """
    status_name: ChatStatus
    """
    The same status as a word.
    """
    status_reason: str | None = None
    title: str | None = None
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    completed_at: AwareDatetime | None = None
    duration_sec: float
    last_sequence: Annotated[int, Field(ge=0)]
    """
    The sequence of the next message.
    """
    pending_inputs: list[InputRequest]
    """
    The pending input requests, oldest first.
    """
    lease: LeaseHolder | None = None
    last_message_at: AwareDatetime | None = None
    last_connector: str | None = None
    """
    The model connector of the last turn or message that names one.
    """
    last_mode: str | None = None
    """
    The mode of the last turn or message that names one.
    """
    last_turn: LastTurn | None = None
    last_artifact: Artifact | None = None
    forked_from: ForkOrigin | None = None
    assistant_id: str | None = None
    """
    The assistant that the chat talks to.
    """
    sort: Annotated[int, Field(examples=[0])]
    """
    The place of the chat in lists that are sorted by it.
    """
    system_prompt: str | None = None
    """
    The instructions for the model, which callers put before the messages.
    """
    lifecycle: Lifecycle
    """
    `active`, `archived` or `deleted`.
    """
    lifecycle_at: AwareDatetime | None = None
    session_version: Annotated[int, Field(examples=[0], ge=0)]
    """
    Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
    """
    updated_by: str | None = None
    """
    The user who made the last such change; null if a service did.
    """


class ChatSession(BaseModel):
    """
    A chat session, without its messages, artifact and context snapshot.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    app_id: Annotated[str, Field(examples=["acme_corp"])]
    workflow_name: Annotated[str, Field(examples=["Generator"])]
    user_id: Annotated[str | None, Field(examples=["user_alice_456"])] = None
    """
    The user that owns the chat.
    """
    team_id: str | None = None
    """
    The team that the chat is shared with.
    """
    visibility: Visibility
    """
    Who may read the chat: `app`, `team` or `private`.
    """
    cache_seed: Annotated[int, Field(examples=[2900028032], ge=0, le=4294967295)]
    """
    The seed for model caches; the same for the lifetime of the chat.
    """
    status: ChatStatus
    """
    `running`, `paused`, `completed` or `failed`.
    """
    status_reason: str | None = None
    """
    Why the chat was paused or failed.
    """
    title: str | None = None
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    last_updated_at: Annotated[
        AwareDatetime, Field(examples=["2025-10-02T10:00:00.000Z"])
    ]
    """
    A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.

    In requests any offset is accepted.
    """
    completed_at: AwareDatetime | None = None
    duration_sec: Annotated[float, Field(examples=[0.0])]
    """
    Seconds from creation to the end; 0 until the chat has ended.
    """
    last_sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The number of messages ever appended, which is the sequence of the next one.
    """
    pending_inputs: list[str]
    """
    The ids of the pending input requests, oldest first.
    """
    lease: LeaseHolder | None = None
    last_message_at: AwareDatetime | None = None
    last_speaker: str | None = None
    """
    The name in the message that was appended last, or its role if it has no name; null if an earlier release
    appended it.
    """
    last_connector: str | None = None
    """
    The model connector of the last turn or message that names one.
    """
    last_mode: str | None = None
    """
    The mode of the last turn or message that names one.
    """
    last_turn: LastTurn | None = None
    forked_from: ForkOrigin | None = None
    assistant_id: str | None = None
    """
    The assistant that the chat talks to.
    """
    sort: Annotated[int, Field(examples=[0])]
    """
    The place of the chat in lists that are sorted by it.
    """
    system_prompt: str | None = None
    """
    The instructions for the model, which callers put before the messages.
    """
    lifecycle: Lifecycle
    """
    `active`, `archived` or `deleted`.
    """
    lifecycle_at: AwareDatetime | None = None
    session_version: Annotated[int, Field(examples=[0], ge=0)]
    """
    Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
    """
    updated_by: str | None = None
    """
    The user who made the last such change; null if a service did.
    """


class ChatToolStatsResponse(ToolStats):
    """
    The sums of the runs of the tools of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]


class ChatWithPermissions(ChatSession):
    """
    A chat session, and what the caller may do in the chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    permissions: list[ChatPermission] | None = None
    """
    What the caller may do in the chat, as far as its status and lifecycle allow it; only with `permissions=true`.
    """


class CreatedChatSession(ChatSession):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreatedInputRequest(InputRequest):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreatedParticipant(Participant):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class CreatedStream(Stream):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class EndedStream(BaseModel):
    """
    A stream that has ended, and the turn that it became.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stream: Stream
    turn: StreamTurn | None = None
    dropped: list[DroppedChunk]
    """
    The chunks that are none of the format of the stream, and are in no message.
    """


class ExchangeResponse(BaseModel):
    """
    The result of an exchange.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    last_sequence: Annotated[int, Field(examples=[2], ge=0)]
    """
    The chat's counter afterwards: the sequence of the next message.
    """
    messages: list[Appended]
    """
    One for each message of the request, in order.
    """
    call: RecordedCall
    payment: Payment | None = None
    noted: list[Noted] | None = None
    """
    What the caller should know although everything is stored; missing if there is nothing.
    """


class Lease(LeaseHolder):
    """
    A lease, for its owner.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    lease_id: Annotated[str, Field(examples=["lease_0198d4b2"])]
    """
    The idempotency key of the acquisition.
    """
    fencing_token: Annotated[int, Field(examples=[3], ge=0)]
    """
    The token that the owner sends with its writes, in the header `Fencing-Token`.
    """


class ListAppStatsResponse(BaseModel):
    """
    A page of apps with statistics.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    apps: list[AppSummary]
    """
    The apps of the page that the token names; a page may be empty without being the last.
    """
    next_cursor: str | None = None
    """
    The cursor of the next page; null on the last page.
    """


class ListMessagesResponse(PageMessage):
    """
    Consecutive messages.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    last_sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The chat's counter: the sequence of the next message.
    """


class ListedChat(ChatSession):
    """
    A chat session in a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    time_group: TimeGroup | None = None
    call_summary: CallSummary | None = None


class ModelStatsResponse(BaseModel):
    """
    The usage of the models of an app.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    models: list[ModelUsage]
    has_more: bool
    """
    Whether there are more than the limit.
    """


class NewExchange(BaseModel):
    """
    Messages to append, and the call that produced the assistant's messages.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    messages: Annotated[list[NewMessage], Field(max_length=1000, min_length=1)]
    """
    1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    """
    call: NewProviderCall
    """
    Its `call_id` is the idempotency key of the exchange.
    """


class PageApp(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[App]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageListedChat(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ListedChat]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageParticipant(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[Participant]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PagePendingInputRequest(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[PendingInputRequest]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageProviderCall(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ProviderCall]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class PageResumePoint(BaseModel):
    """
    A page of a list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    data: list[ResumePoint]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page.
    """


class Presence(BaseModel):
    """
    The persons who are present in a chat: those with an open stream.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    present: list[Present]
    """
    The persons, longest presence first; at most 200.
    """
    count: Annotated[int, Field(examples=[1], ge=0)]
    """
    The number of all persons who are present.
    """


class RecordCallsResponse(BaseModel):
    """
    The recorded calls and their payment.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    calls: list[RecordedCall]
    """
    In the order of the request.
    """
    payment: Payment | None = None


class RecordToolRunsResponse(BaseModel):
    """
    The recorded runs.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat_id: Annotated[str, Field(examples=["chat_abc123def456"])]
    runs: list[RecordedToolRun]
    """
    In the order of the request.
    """


class Resume(BaseModel):
    """
    Everything that is needed to resume a chat, from one consistent snapshot.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    chat: ChatSession
    action: Action
    """
    The next action: `retry` the failed step, `continue` the interrupted step, `await_input`, `start` if no
    step is open, or `nothing_to_do`.
    """
    step: StepToRun | None = None
    open_steps: list[ResumePoint]
    """
    All unfinished steps of the last turn, in order; several if they ran at the same time.
    """
    must_reopen: bool
    """
    Whether the chat must be reopened before the next write.
    """
    space: dict[str, Any]
    """
    The contents of the shared space to restore before the next step runs.
    """
    next_speaker: Annotated[str | None, Field(examples=["visualizer"])] = None
    """
    The next speaker, if it follows from the transcript.
    """
    pending_calls: list[PendingCall]
    """
    The tool calls without results, in order.
    """
    transcript: Transcript
    termination: Termination | None = None
    context_sequence: Annotated[int, Field(examples=[15], ge=0)]
    """
    The chat's counter when the context snapshot was written.
    """
    context_snapshot: dict[str, Any]
    last_artifact: Artifact | None = None
    pending_inputs: list[InputRequest]
    """
    The pending input requests, oldest first.
    """


class SessionResponse(BaseModel):
    """
    How the browser that asks is signed in.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    can_sign_in: bool
    """
    Whether people can sign in at this service.
    """
    session: SignedIn | None = None


class CreatedLease(Lease):
    model_config = ConfigDict(
        extra="allow",
    )
    duplicate: bool
    """
    Whether an earlier request with the same id has created it.
    """


class ListCallsResponse(PageProviderCall):
    """
    A page of a chat's calls, and the usage of all of its calls.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    usage: Usage
    """
    The usage of all calls of the chat, not only of those on the page.
    """


class ListChatsResponse(PageListedChat):
    """
    A page of chat sessions, and how many the whole list has if the request asks for it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    time_groups: list[GroupCount] | None = None
    """
    How many chats of the page are in each time group, the latest group first; only with `group_by`.
    """
    total: Annotated[int | None, Field(ge=0)] = None
    """
    The number of chats in the whole list, if it is at most 10,000.
    """
    total_is_at_least: Annotated[int | None, Field(ge=0)] = None
    """
    10,000, if the list has more chats.
    """


class ListenEvent(
    RootModel[
        Message
        | CaughtUp
        | InputRequest
        | StatusChanged
        | VersionChanged
        | Presence
        | Usage
        | Stream
        | StreamChunk
    ]
):
    root: (
        Message
        | CaughtUp
        | InputRequest
        | StatusChanged
        | VersionChanged
        | Presence
        | Usage
        | Stream
        | StreamChunk
    )
