"""MozaiksAI's persistence over Reprise: code that was written for it runs unchanged.

Create the manager with the app, because ``append_message`` names none::

    from reprise.mozaiks import AG2PersistenceManager

    persistence = AG2PersistenceManager("acme_corp", base_url="http://127.0.0.1:8080")

Code that imports it from ``core.data.persistence_manager`` needs :func:`install` before. Without arguments the manager reads
``REPRISE_URL``, ``REPRISE_APP_ID`` and ``REPRISE_TOKEN``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, cast

from pydantic import ValidationError

from . import models
from ._async.chat import AsyncChat
from ._async.client import AsyncReprise
from ._request import Json, Request, new_id, path, without_none
from .errors import Conflict, InvalidRequest, NotFound, RepriseError

DEFAULT_URL = "http://127.0.0.1:8080"
#: The app of a client whose calls name an app each; it is never asked for.
NO_APP = "none"


class InvalidAppIdError(ValueError):
    """The app id is not 1 to 64 of ``A-Z a-z 0-9 _ -``, or the service asks for registered apps, and this is none."""


class DuplicateChatError(Exception):
    """The chat exists. The text contains ``duplicate key``, by which callers recognise it."""


class _Manager:
    def __init__(
        self,
        app_id: str | None = None,
        *,
        base_url: str | None = None,
        token: str | None = None,
        client: AsyncReprise | None = None,
    ) -> None:
        self._app_id = app_id or os.environ.get("REPRISE_APP_ID")
        if self._app_id:
            # The first call may name another app: then an address in its place would never be found out.
            self._app(None)
        url = base_url or os.environ.get("REPRISE_URL") or DEFAULT_URL
        token = token or os.environ.get("REPRISE_TOKEN")
        self._client = client or AsyncReprise(url, self._app_id or NO_APP, token=token)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    def _app(self, app_id: str | None) -> str:
        stated = app_id or self._app_id
        try:
            return models.AppId.model_validate(stated).root
        except ValidationError as error:
            problem = "no app_id" if stated is None else f"{stated!r} is no app_id"
            raise InvalidAppIdError(f"{problem}: pass one, or create the manager with it; 1 to 64 of A-Za-z0-9_-") from error


class AG2PersistenceManager(_Manager):
    """Keeps the chats of workflows: their messages, context, last artifact and status."""

    async def create_chat_session(
        self,
        chat_id: str,
        app_id: str | None = None,
        workflow_name: str = "Chat",
        user_id: str | None = None,
        cache_seed: int | None = None,
        **fields: Any,
    ) -> None:
        """Creates a chat, which others may join by its id.

        A chat that exists is :class:`DuplicateChatError`, unless this very call created it and sends the request again.
        """
        # The mark tells this call from every other one with the same arguments.
        given: Json = fields.pop("metadata", None) or {}
        metadata = {**given, "creation_id": new_id()}
        chat = {"chat_id": chat_id, "workflow_name": workflow_name, "user_id": user_id, "cache_seed": cache_seed}
        body = {"visibility": "link", **without_none(chat), **fields, "metadata": metadata}
        try:
            await self._client.send(Request.post(path("api", "chats", self._app(app_id)), body))
        except Conflict as error:
            if error.code == "chat-exists":
                raise DuplicateChatError(f"duplicate key: the chat {chat_id} exists") from error
            raise
        except InvalidRequest as error:
            if error.code == "invalid-app-id":
                raise InvalidAppIdError(str(error)) from error
            raise

    async def append_message(self, chat_id: str, message: Mapping[str, Any], app_id: str | None = None) -> int:
        """Appends a message, and returns its sequence.

        With its ``event_id`` it is stored once, however often it is appended. The store counts sequences, so that one in
        ``message`` is not stored.
        """
        given = {name: value for name, value in message.items() if name != "sequence"}
        stored = await self._chat(chat_id, app_id).append(given)
        return stored.messages[0].sequence

    async def persist_initial_messages(
        self, chat_id: str, app_id: str | None = None, messages: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Appends the first messages of a user, unless they are stored.

        A message whose content is ``None`` is left out. One without a role is of the user. One without a name is named by its
        role, or AG2 could not resume from it.
        """
        said = [_named(message) for message in messages if message.get("content") is not None]
        if said:
            where = path("api", "chats", self._app(app_id), chat_id, "initial-messages")
            await self._client.send(Request.post(where, {"messages": said}))

    async def load_chat_history(self, chat_id: str, app_id: str | None = None) -> list[dict[str, Any]]:
        """Returns the messages from which AG2 resumes, each with ``role``, ``name`` and ``content``.

        A chat that does not exist has none.
        """
        try:
            history = await self._chat(chat_id, app_id).history("ag2")
        except NotFound as error:
            if error.code == "chat-not-found":
                return []
            raise
        return [dict(message) for message in history.messages]

    async def mark_chat_completed(self, chat_id: str, app_id: str | None = None) -> bool:
        """Ends the chat as completed; returns false if it does not exist."""
        try:
            await self._chat(chat_id, app_id).complete()
        except NotFound:
            return False
        return True

    async def update_last_artifact(
        self, chat_id: str, app_id: str | None = None, artifact: Mapping[str, Any] | None = None
    ) -> None:
        """Replaces the artifact that a browser shows when it joins. Keys that an artifact does not have are left out."""
        where = path("api", "chats", self._app(app_id), chat_id, "artifact")
        kept = {key: value for key, value in (artifact or {}).items() if key in models.NewArtifact.model_fields}
        await self._client.send(Request("PUT", where, body=kept))

    async def update_context_snapshot(
        self, chat_id: str, app_id: str | None = None, context_data: Mapping[str, Any] | None = None
    ) -> None:
        """Replaces the context snapshot."""
        await self._chat(chat_id, app_id).set_context(context_data or {})

    async def load_context_snapshot(self, chat_id: str, app_id: str | None = None) -> dict[str, Any]:
        """Returns the context snapshot; empty if there is none."""
        try:
            return await self._chat(chat_id, app_id).context() or {}
        except NotFound:
            return {}

    def _chat(self, chat_id: str, app_id: str | None) -> AsyncChat:
        return self._client.chat(chat_id, app_id=self._app(app_id))


def _named(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message with a role and a name."""
    role = message.get("role") or "user"
    name = message.get("name") or message.get("agent_name") or ("user" if role == "user" else "assistant")
    return {**{key: value for key, value in message.items() if key != "agent_name"}, "role": role, "name": name}


class PersistenceManager(_Manager):
    """Validates apps, and keeps the tokens of users.

    If the service asks for tokens, no role may do both: ``validate_app`` needs ``operator``, and the wallets need ``service``.
    Make one manager with each.
    """

    async def validate_app(self, app_id: str | None = None) -> bool:
        """Returns whether the registry has the app, and it is enabled."""
        try:
            app = models.App.model_validate(await self._client.send(Request("GET", path("api", "apps", self._app(app_id)))))
        except NotFound:
            return False
        return app.status == models.AppStatus.enabled

    async def ensure_wallet(self, user_id: str, app_id: str | None = None, initial_balance: int = 0) -> int:
        """Creates the wallet unless it exists; returns its balance."""
        request = Request.post(self._wallet(user_id, app_id, "ensure"), {"initial_balance": initial_balance})
        return models.Wallet.model_validate(await self._client.send(request)).balance

    async def get_wallet_balance(self, user_id: str, app_id: str | None = None) -> int:
        """Returns the balance; 0 without a wallet."""
        try:
            found = await self._client.send(Request("GET", self._wallet(user_id, app_id)))
        except NotFound:
            return 0
        return models.Wallet.model_validate(found).balance

    async def credit_tokens(
        self, user_id: str, amount: int, app_id: str | None = None, *, reason: str = "credit", entry_id: str | None = None
    ) -> int:
        """Adds tokens; returns the balance after it. With an ``entry_id`` it happens once."""
        return await self._change("credit", user_id, app_id, amount, reason, entry_id)

    async def debit_tokens(
        self, user_id: str, amount: int, app_id: str | None = None, *, reason: str = "debit", entry_id: str | None = None
    ) -> int:
        """Takes tokens; returns the balance after it. More than there are is refused with ``insufficient-tokens``."""
        return await self._change("debit", user_id, app_id, amount, reason, entry_id)

    async def _change(self, verb: str, user_id: str, app_id: str | None, amount: int, reason: str, entry_id: str | None) -> int:
        body = {"entry_id": entry_id or new_id(), "amount": amount, "reason": reason}
        changed = await self._client.send(Request.post(self._wallet(user_id, app_id, verb), body))
        entry = models.ChangeResponse.model_validate(changed).entry
        if entry is None:
            raise RepriseError("the change was not made")
        return entry.balance

    def _wallet(self, user_id: str, app_id: str | None, *verb: str) -> str:
        return path("api", "wallets", self._app(app_id), user_id, *verb)


def _normalize_to_strict_ag2(raw_msgs: Sequence[Any] | None, *, default_user_name: str = "user") -> list[dict[str, Any]]:  # pyright: ignore[reportUnusedFunction]
    """Keeps the messages that AG2 accepts, as ``role``, ``name`` and ``content``; a user without a name gets one."""
    kept: list[dict[str, Any]] = []
    for message in raw_msgs or ():
        if not isinstance(message, Mapping):
            continue
        fields = cast("Mapping[str, Any]", message)
        role, name, content = fields.get("role"), fields.get("name"), fields.get("content")
        if role == "user" and not name:
            name = default_user_name
        if role in ("user", "assistant") and isinstance(name, str) and name and content is not None:
            kept.append({"role": role, "name": name, "content": content})
    return kept


def install() -> None:
    """Makes this module importable as ``core.data.persistence_manager``, unless the application has such a module."""
    for name in ("core", "core.data"):
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = []
            sys.modules[name] = package
    sys.modules.setdefault("core.data.persistence_manager", sys.modules[__name__])
