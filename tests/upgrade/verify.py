"""Reads everything back, and makes the database wrong to prove that reading back finds it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from bson import json_util
from pymongo import MongoClient

from client import Client
from load import Chat, as_known, read_all
from processes import Database, Fault, Release, Service, run

Stored = dict[str, Any]
# What a newer release than both would have written.
FAR_FORMAT = 99
INDEXED_WITHIN_SEC = 30


async def verify_chat(client: Client, chat: Chat, service: Service) -> None:
    """Every acknowledged message is stored once, at its position and with its text, and a subscriber has received the same."""
    stored = [as_known(it) for it in await read_all(client, chat, service.url)]
    ids = [it.event_id for it in stored]
    if doubled := sorted({it for it in ids if ids.count(it) > 1}) if len(set(ids)) < len(ids) else []:
        raise Fault(f"{chat.chat_id}: stored twice: {doubled}")
    if lost := sorted({it.event_id for it in chat.acknowledged.values()} - set(ids)):
        raise Fault(f"{chat.chat_id}: acknowledged and lost: {lost}")
    for sequence, message in enumerate(stored):
        known = chat.acknowledged.get(sequence)
        if known is None:
            raise Fault(f"{chat.chat_id}: {message.event_id} at position {sequence} was never acknowledged")
        if known.event_id != message.event_id:
            raise Fault(f"{chat.chat_id}: out of order: {message.event_id} at position {sequence}, not {known.event_id}")
        if known.content != message.content:
            raise Fault(f"{chat.chat_id}: another text: {message.event_id}")
    if chat.received != stored:
        raise Fault(f"{chat.chat_id}: a subscriber has received {len(chat.received)} messages, stored are {len(stored)}")


async def verify_sums(release: Release, database: Database, apps: list[str | None]) -> None:
    """The commands of a release find nothing wrong."""
    for command in (("check", "--deep"), ("stats", "verify"), ("wallets", "verify")):
        for app in apps:
            said = await run(release, database, *command, *(("--app", app) if app else ()))
            if said.status != 0:
                raise Fault(f"{release.name}: `reprise {' '.join(command)}` ends with {said.status}: {said.text}")


async def verify_found(client: Client, service: Service, app: str, words: str) -> None:
    """The search of a service finds a message, as soon as the index has caught up."""
    path = f"/api/search/{app}?q={words.replace(' ', '+')}"
    for _ in range(INDEXED_WITHIN_SEC * 2):
        answer = await client.ask(service.url, "GET", path)
        if answer.is_success and answer.json()["data"]:
            return
        await asyncio.sleep(0.5)
    raise Fault(f"{service.release.name}: not found within {INDEXED_WITHIN_SEC} s: {words}: {answer.status_code} {answer.text}")


class Raw:
    """The database itself, behind the back of the services."""

    def __init__(self, database: Database) -> None:
        self._mongo: MongoClient[Stored] = MongoClient(database.uri)
        self._database = self._mongo[database.name]
        self._sessions: Final = self._database["chat_sessions"]

    def close(self) -> None:
        """Closes the connections."""
        self._mongo.close()

    def make_oldest(self, documents: dict[str, str]) -> None:
        """Makes an empty database one that a release without formats has left, with documents of that time, by collection."""
        self._database.create_collection("chat_sessions")
        for collection, text in documents.items():
            self._database[collection].insert_one(json_util.loads(text))

    def session(self, chat: Chat) -> Stored:
        """Returns the document of a chat."""
        found = self._sessions.find_one({"_id": chat.chat_id})
        if found is None:
            raise Fault(f"{chat.chat_id} is not stored")
        return found

    def put_session(self, session: Stored) -> None:
        """Stores the document of a chat as it is given."""
        self._sessions.replace_one({"_id": session["_id"]}, session)

    def plant(self, what: str, chat: Chat) -> str:
        """Makes the newest messages of a chat wrong, so that the chat still fits together; returns what must be found."""
        session = self.session(chat)
        tail: list[Stored] = session["messages"]
        if what == "lose":
            tail.pop()
        elif what == "double":
            tail.append(tail[-1])
        else:
            tail[-1], tail[-2] = tail[-2], tail[-1]
        session["last_sequence"] = session["first_sequence"] + len(tail)
        self.put_session(session)
        return PLANTS[what]

    def find_format(self) -> Stored | None:
        """Returns the document of the format."""
        return self._database["store_format"].find_one({})

    def put_format(self, document: Stored) -> None:
        """Stores the document of the format."""
        self._database["store_format"].replace_one({"_id": document["_id"]}, document)


# What is planted, and what must be found.
PLANTS = {"lose": "acknowledged and lost", "double": "stored twice", "reorder": "out of order"}


async def verify_refusal(release: Release, database: Database) -> str:
    """A release refuses a database at a format that it does not know; returns what it says."""
    shown = await run(release, database, "upgrade")
    said = "the database is newer than this release"
    if shown.status != 1 or said not in shown.text:
        raise Fault(f"{release.name}: `reprise upgrade` ends with {shown.status}: {shown.text}")
    checked = await run(release, database, "check")
    if checked.status != 1 or "upgrade this program" not in checked.text:
        raise Fault(f"{release.name}: `reprise check` ends with {checked.status}: {checked.text}")
    return shown.text.strip().splitlines()[-1]


async def verify_untouched(client: Client, chat: Chat, service: Service, raw: Raw) -> None:
    """A service neither shows nor changes a chat that a newer release has written."""
    session = raw.session(chat)
    newer = {**session, "schema_version": type(session["schema_version"])(FAR_FORMAT)}
    raw.put_session(newer)
    append = {"messages": [{"event_id": "late", "role": "user", "content": "late"}]}
    for method, path, body in [("GET", f"{chat.path}/messages", None), ("POST", f"{chat.path}/messages", append)]:
        answer = await client.ask(service.url, method, path, body)
        if answer.status_code != 500 or "unsupported-schema-version" not in answer.text:
            raise Fault(f"{service.release.name}: {method} {path} of a newer release: {answer.status_code} {answer.text}")
    if raw.session(chat) != newer:
        raise Fault(f"{service.release.name}: a chat of a newer release was changed")
    raw.put_session(session)
