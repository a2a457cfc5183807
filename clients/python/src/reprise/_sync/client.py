from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import Self

from .. import models
from .._json import checked_id
from .._request import Json, Request, path, without_none
from .chat import Chat
from .documents import Documents
from .pages import pages
from .transport import Transport


class Reprise:
    """A client of one app.

    Every request is sent again until it is answered, for ``retry_for`` seconds: a service that restarts, or a database that
    elects, is not seen by the caller. Writes keep their ids, so that no
    message, call, turn or question is stored twice. What is promised of documents is said at :meth:`Documents.put`,
    :meth:`Documents.append` and :meth:`Documents.delete`.

    :param base_url: the address of the service, such as ``http://127.0.0.1:8080``
    :param app_id: the app whose chats are meant
    :param token: the token of the caller, if the service asks for one
    :param timeout: how long one attempt may take, in seconds
    :param retry_for: how long a request is sent again, in seconds
    :param http: connections to use instead of new ones; the caller closes them. With asyncio, they belong to one event loop;
        without them, the client may be used in several loops, and opens connections in each.
    """

    def __init__(
        self,
        base_url: str,
        app_id: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retry_for: float = 60.0,
        http: httpx.Client | None = None,
    ) -> None:
        self.app_id = checked_id(app_id, "app_id")
        self._transport = Transport(base_url, token=token, timeout=timeout, retry_for=retry_for, http=http)
        #: The documents of the app.
        self.documents = Documents(self._transport, app_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the answers that have no reader any more, as cancelled, and closes the connections.

        With asyncio, these are the ones of the event loop that calls; those of other loops end with their loop.
        """
        self._transport.close()

    def chat(self, chat_id: str, *, app_id: str | None = None) -> Chat:
        """Returns a chat by its id, without asking for it."""
        return Chat(self._transport, app_id or self.app_id, checked_id(chat_id, "chat_id"))

    def create_chat(self, workflow_name: str, *, chat_id: str | None = None, **fields: Any) -> Chat:
        """Creates a chat; ``fields`` are those of ``CreateChatRequest``, such as ``title``, ``user_id`` or ``visibility``.

        With a ``chat_id`` the call is safe to repeat by another process, too: the same fields get the chat as it is now.
        """
        body = {"workflow_name": workflow_name, "chat_id": chat_id, **fields}
        request = Request.post(path("api", "chats", self.app_id), body, id_field="chat_id")
        created = models.ChatSession.model_validate(self._transport.json(request))
        return self.chat(created.chat_id)

    def ensure_chat(self, chat_id: str, workflow_name: str, **fields: Any) -> Chat:
        """Creates a chat unless it exists; one of another workflow is :class:`~reprise.Conflict`."""
        body = without_none({"workflow_name": workflow_name, **fields})
        self._transport.json(Request("PUT", path("api", "chats", self.app_id, chat_id), body=body))
        return self.chat(chat_id)

    def chats(self, *, page_size: int = 100, **filters: Any) -> Iterator[models.ListedChat]:
        """Lists the chats of the app; ``filters`` are the parameters of ``GET /api/chats/{app_id}``."""
        listed = path("api", "chats", self.app_id)
        for chat in pages(self._transport, listed, models.ListedChat.model_validate, page_size, filters):
            yield chat

    def pending_questions(
        self, *, permissions: bool = False, page_size: int = 100
    ) -> Iterator[models.PendingInputRequest]:
        """Lists the questions of all chats that wait for an answer; with ``permissions`` each says what the caller may do."""
        listed = path("api", "input-requests", self.app_id)
        asked = {"permissions": True} if permissions else {}
        for question in pages(self._transport, listed, models.PendingInputRequest.model_validate, page_size, asked):
            yield question

    def search(self, words: str, *, page_size: int = 50) -> Iterator[models.HitResponse]:
        """Finds messages by what was said, the newest first."""
        found = path("api", "search", self.app_id)
        for hit in pages(self._transport, found, models.HitResponse.model_validate, page_size, {"q": words}):
            yield hit

    def send(self, request: Request) -> Any:
        """Sends a prepared request, and returns the JSON of its response."""
        return self._transport.json(request)

    def request(self, method: str, path: str, *, body: Json | None = None, **params: Any) -> Any:
        """Sends any request of the API, such as ``request("GET", "/api/health/ready")``, and returns its JSON."""
        return self.send(Request(method, path, params=params, body=body))
