"""The client of Reprise, which keeps the conversations of multi-agent workflows and brings them back.

:class:`Reprise` waits for each answer, :class:`AsyncReprise` is for asyncio; both have the same methods::

    from reprise import Reprise

    with Reprise("http://127.0.0.1:8080", "acme_corp") as reprise:
        chat = reprise.create_chat("Picnic")
        chat.append({"role": "user", "name": "user", "content": "Hello"})
        print(chat.history("openai").messages)
"""

from . import models
from ._async.chat import AsyncChat
from ._async.client import AsyncReprise
from ._events import Event
from ._sync.chat import Chat
from ._sync.client import Reprise
from .errors import (
    Busy,
    Conflict,
    Denied,
    Fenced,
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
    RepriseError,
    Unavailable,
)

__all__ = [
    "AsyncChat",
    "AsyncReprise",
    "Busy",
    "Chat",
    "Conflict",
    "Denied",
    "Event",
    "Fenced",
    "InvalidRequest",
    "NotFound",
    "OutcomeUnknown",
    "PreconditionFailed",
    "Reprise",
    "RepriseError",
    "Unavailable",
    "models",
]
