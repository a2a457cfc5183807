"""The client of Reprise, which keeps the conversations of multi-agent workflows and brings them back.

:class:`Reprise` waits for each answer, :class:`AsyncReprise` is for asyncio; both have the same methods::

    from reprise import Reprise

    with Reprise("http://127.0.0.1:8080", "acme_corp") as reprise:
        chat = reprise.create_chat("Picnic")
        chat.append({"role": "user", "name": "user", "content": "Hello"})
        print(chat.history("openai").messages)
"""

from collections.abc import AsyncGenerator, Generator
from typing import Any, overload

from . import models
from ._async.chat import AsyncChat
from ._async.client import AsyncReprise
from ._async.documents import AsyncDocuments
from ._async.stream import AsyncStream
from ._documents import Content, DocumentInfo, ListedDocument
from ._events import Event
from ._sync.chat import Chat
from ._sync.client import Reprise
from ._sync.documents import Documents
from ._sync.stream import Stream
from .errors import (
    Busy,
    Conflict,
    Denied,
    Fenced,
    InvalidRequest,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
    RepriseError,
    Unavailable,
)

__all__ = [
    "AsyncChat",
    "AsyncDocuments",
    "AsyncReprise",
    "AsyncStream",
    "Busy",
    "Chat",
    "Conflict",
    "Content",
    "Denied",
    "DocumentInfo",
    "Documents",
    "Event",
    "Fenced",
    "InvalidRequest",
    "InvalidValue",
    "ListedDocument",
    "NotFound",
    "OutcomeUnknown",
    "PreconditionFailed",
    "Reprise",
    "RepriseError",
    "Stream",
    "Unavailable",
    "models",
    "stream",
]


@overload
def stream(chat: AsyncChat, upstream: Any, **fields: Any) -> AsyncGenerator[Any, None]: ...
@overload
def stream(chat: Chat, upstream: Any, **fields: Any) -> Generator[Any, None, None]: ...
def stream(chat: AsyncChat | Chat, upstream: Any, **fields: Any) -> AsyncGenerator[Any, None] | Generator[Any, None, None]:
    """Yields the events of an answer, and writes them to a stream of the chat: :meth:`AsyncChat.stream`."""
    return chat.stream(upstream, **fields)
