"""How agmi writes to Reprise, edits its database, and asks for an audit.

A record is a message. The first ones are in segments and the last ones in the tail of the chat. An edit leaves every count in
the database as a service would have left it, so that only the integrity can find it.
"""

from __future__ import annotations

import copy
import datetime
import itertools
from pathlib import Path
from typing import Any, ClassVar

from agmi.adapters.base import MemoryAdapter, Record

from service import Service, until

INTERVAL_MS = 100
# Enough for a chat to seal its first messages.
PADDING = " and so on" * 3000
DATABASES = itertools.count()

Message = dict[str, Any]


class RepriseAdapter(MemoryAdapter):
    """A service, and `reprise check --deep`."""

    detection_point: ClassVar[str] = "audit"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True

    def __init__(self, name: str, binary: Path, key: Path | None, *, exports_checkpoints: bool = False) -> None:
        self.name = name
        self.binary = binary
        self.key = key
        self.exports_checkpoints = exports_checkpoints

    def setup(self) -> None:
        self.checkpoints: str | None = None
        self.service = Service(self.binary, f"integrity_{next(DATABASES)}", self.key, INTERVAL_MS)
        self.chat_id = self.service.create_chat()
        self.other_id = self.service.create_chat()

    def teardown(self) -> None:
        self.service.close()

    def seed(self, n: int) -> None:
        self._append(self.chat_id, n)
        # A chat is sealed after the response to an append.
        until("the first messages are in segments", lambda: self._session(self.chat_id)["first_sequence"] > 0)
        if not self._session(self.chat_id)["messages"]:
            raise RuntimeError("the tail has no messages")

    def seed_other(self, n: int) -> None:
        self._append(self.other_id, n)

    def append_genuine(self) -> None:
        self._append(self.chat_id, 1)

    def reload(self) -> None:
        if self.service.process.poll() is None:
            self.service.stop()
        self.service.start()
        # What was changed without a service must not be signed by the next pass.
        self.service.wait_for_pass()

    def verify(self) -> bool:
        faults = self.service.faults(self.checkpoints)
        self.verify_detail = faults[0] if faults else None
        return not faults

    def read_all_raw(self) -> list[Record]:
        return self._records(self.chat_id)

    def read_other_raw(self) -> list[Record]:
        return self._records(self.other_id)

    def write_raw(self, record: Record) -> None:
        messages = self._messages(self.chat_id)
        messages[record.seq : record.seq + 1] = [record.fields["message"]]
        self._store(messages)

    def delete_raw(self, seq: int) -> None:
        messages = self._messages(self.chat_id)
        del messages[seq]
        self._store(messages)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        messages = self._messages(self.chat_id)
        event_id = messages[victim_seq]["event_id"]
        messages[victim_seq] = {**donor.fields["message"], "event_id": event_id}
        self._store(messages)

    def mutate_payload(self, record: Record) -> Record:
        changed = copy.deepcopy(record)
        # As many bytes as before.
        changed.fields["message"]["content"] = record.fields["message"]["content"].replace("entry", "forgd", 1)
        return changed

    def forge_record(self, template: Record) -> Record:
        forged = self.mutate_payload(Record(template.seq + 1, copy.deepcopy(template.fields)))
        forged.fields["message"]["event_id"] += "f"
        return forged

    def read_meta(self, seq: int) -> dict[str, Any]:
        message = self._messages(self.chat_id)[seq]
        return {"role": message["role"], "created_at": message["created_at"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        messages = self._messages(self.chat_id)
        if meta.pop("agmi_meta_tampered", False):
            meta = {"role": "tool", "created_at": meta["created_at"] - datetime.timedelta(days=1)}
        messages[seq] |= meta
        self._store(messages)

    def snapshot_store(self) -> dict[str, list[dict[str, Any]]]:
        database = self.service.database
        return {name: list(database[name].find()) for name in database.list_collection_names()}

    def restore_store(self, token: object) -> None:
        assert isinstance(token, dict)
        self.service.stop()
        database = self.service.database
        for name in database.list_collection_names():
            database[name].delete_many({})
            if token.get(name):
                database[name].insert_many(token[name])

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['chat_id']}/{record.seq}"

    def payload_of(self, record: Record) -> str:
        content: str = record.fields["message"]["content"]
        return content

    def owner_of(self, record: Record) -> str:
        owner: str = record.fields["chat_id"]
        return owner

    def _append(self, chat_id: str, n: int) -> None:
        first = self._session(chat_id)["last_sequence"]
        for number in range(first, first + n):
            self.service.append(chat_id, f"entry {number} of {chat_id}{PADDING}")
        self.service.wait_until_signed(chat_id, first + n - 1)
        if self.exports_checkpoints:
            self.checkpoints = self.service.export_checkpoints()

    def _session(self, chat_id: str) -> dict[str, Any]:
        session = self.service.database.chat_sessions.find_one({"_id": chat_id})
        assert session is not None
        return session

    def _segments(self, chat_id: str) -> list[dict[str, Any]]:
        """The segments in use: from the session's first sequence on they are not."""
        below = {"_id.chat_id": chat_id, "_id.first_sequence": {"$lt": self._session(chat_id)["first_sequence"]}}
        return list(self.service.database.chat_segments.find(below).sort("_id.first_sequence"))

    def _messages(self, chat_id: str) -> list[Message]:
        sealed = [message for segment in self._segments(chat_id) for message in segment["messages"]]
        return sealed + self._session(chat_id)["messages"]

    def _records(self, chat_id: str) -> list[Record]:
        return [Record(seq, {"chat_id": chat_id, "message": it}) for seq, it in enumerate(self._messages(chat_id))]

    def _store(self, messages: list[Message]) -> None:
        """Writes the messages of the first chat into the segments and the tail that it has."""
        rest = list(messages)
        for segment in self._segments(self.chat_id):
            part, rest = rest[: segment["count"]], rest[segment["count"] :]
            self.service.database.chat_segments.update_one({"_id": segment["_id"]}, {"$set": {"messages": part}})
        tail = {"messages": rest, "last_sequence": len(messages), "tail_bytes": sum(it["bytes"] for it in rest)}
        self.service.database.chat_sessions.update_one({"_id": self.chat_id}, {"$set": tail})
