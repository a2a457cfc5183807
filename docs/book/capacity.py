#!/usr/bin/env python3
"""Measures what messages cost: bytes on disk, in indexes, in the search index and in the oplog.

    local-mongod run -- capacity.py REPRISE_BINARY

Prints what was measured, one JSON object a line, and writes the rows of the calculator. Needs pymongo and httpx, as the tests of the
Python client have them, and a mongod without other work at MONGODB_URI. The texts of the messages are sentences of the documents of this project, so that they
compress as prose does.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pymongo

DOCUMENTS = Path(__file__).resolve().parents[1]
WORDS = " ".join(re.sub(r"[`|*#\[\]()-]+", " ", path.read_text()) for path in sorted(DOCUMENTS.glob("*.md"))).split()
SEARCH = {"search_entries", "search_marks", "search_progress"}
WRITERS = 8
# Short and medium messages in chats of a usual length, and one long chat.
CASES = {
    "200 bytes, chats of 20": (200, 20, 400),
    "1,000 bytes, chats of 20": (1_000, 20, 400),
    "8,000 bytes, chats of 20": (8_000, 20, 100),
    "1,000 bytes, one chat of 8,000": (1_000, 8_000, 1),
}


def text(size: int, source: random.Random) -> str:
    start = source.randrange(len(WORDS))
    words, length = [], 0
    while length < size:
        # Pieces of eight words from anywhere, so that no message repeats another one.
        piece = WORDS[start : start + 8] or WORDS[:8]
        words += piece
        length += sum(len(word) + 1 for word in piece)
        start = source.randrange(len(WORDS))
    return " ".join(words)[:size]


class Trial:
    def __init__(self, binary: str, uri: str, name: str, *, search: bool) -> None:
        self.mongo = pymongo.MongoClient(uri, directConnection=True)
        self.database = self.mongo[name]
        settings = {
            "REPRISE__MONGO__DATABASE": name,
            "REPRISE__SEARCH__ENABLED": str(search).lower(),
            "REPRISE__LOG__FILTER": "error",
            "REPRISE__LIMITS__NEW_CHATS_PER_MIN_PER_USER": "0",
        }
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--mongo-uri", uri]
        self.service = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True)
        self.url = self.service.stdout.readline().split()[-1]
        self.http = httpx.Client(base_url=f"{self.url}/api", timeout=60, trust_env=False)
        while not self.is_ready():
            time.sleep(0.2)

    def is_ready(self) -> bool:
        return self.http.get("/health/ready").status_code == 200

    def post(self, path: str, body: dict) -> None:
        self.http.post(path, json=body).raise_for_status()

    def fill(self, size: int, length: int, count: int) -> None:
        def chat(number: int) -> None:
            source = random.Random(number)
            self.post("/chats/capacity", {"chat_id": f"chat-{number}", "workflow_name": "Capacity", "user_id": "alice"})
            for index in range(length):
                role, name = ("user", "user") if index % 2 == 0 else ("assistant", "planner")
                message = {"event_id": f"event-{index}", "role": role, "name": name, "content": text(size, source)}
                self.post(f"/chats/capacity/chat-{number}/messages", message)

        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(chat, range(count)))

    def indexed(self) -> None:
        """Waits until the search index follows."""
        metric = re.compile(r"^reprise_search_pending_chats (\d+)", re.MULTILINE)
        while int(metric.search(self.http.get(f"{self.url}/metrics").text)[1]):
            time.sleep(0.5)

    def sizes(self) -> dict[str, dict[str, int]]:
        self.mongo.admin.command("fsync")
        return {name: self.database.command("collStats", name) for name in self.database.list_collection_names()}

    def oplog(self, since) -> int:
        """The bytes of the operations since a moment, before they are compressed."""
        sizes = self.mongo.local["oplog.rs"].aggregate(
            [{"$match": {"ts": {"$gt": since}}}, {"$group": {"_id": None, "size": {"$sum": {"$bsonSize": "$$ROOT"}}}}]
        )
        return next(iter(sizes), {"size": 0})["size"]

    def now(self):
        return self.mongo.local["oplog.rs"].find().sort("$natural", -1).limit(1)[0]["ts"]

    def stop(self) -> None:
        self.service.terminate()
        self.service.wait()
        self.mongo.drop_database(self.database.name)


def measure(binary: str, uri: str, case: str, *, search: bool) -> dict:
    size, length, count = CASES[case]
    trial = Trial(binary, uri, f"capacity_{abs(hash((case, search))) % 10**8}", search=search)
    empty, since = trial.sizes(), trial.now()
    started = time.monotonic()
    trial.fill(size, length, count)
    seconds = time.monotonic() - started
    if search:
        trial.indexed()
    time.sleep(3)
    full, messages = trial.sizes(), length * count

    def grown(field: str, of_search: bool) -> float:
        of = lambda stats: sum(each[field] for name, each in stats.items() if (name in SEARCH) == of_search)  # noqa: E731
        return round((of(full) - of(empty)) / messages, 1)

    measured = {
        "case": case,
        "search": search,
        "messages": messages,
        "disk_per_message": grown("storageSize", False),
        "indexes_per_message": grown("totalIndexSize", False),
        "uncompressed_per_message": grown("size", False),
        "search_per_message": round(grown("storageSize", True) + grown("totalIndexSize", True), 1),
        "oplog_per_message": round(trial.oplog(since) / messages, 1),
        "seconds": round(seconds, 1),
    }
    trial.stop()
    return measured


def rows(measured: list[dict]) -> list[dict]:
    """The rows of the calculator: one for each size in chats of a usual length."""
    found = []
    for case, (size, length, _) in CASES.items():
        if length != 20:
            continue
        without, with_search = (next(each for each in measured if (each["case"], each["search"]) == (case, search)) for search in (False, True))
        found.append(
            {
                "size": size,
                "disk": without["disk_per_message"],
                "indexes": without["indexes_per_message"],
                "search": with_search["search_per_message"],
                "oplog": without["oplog_per_message"],
                "oplogSearch": with_search["oplog_per_message"],
            }
        )
    return found


def write(measured: list[dict]) -> None:
    lines = [
        "// Made by docs/book/capacity.py: bytes for each message, by the size of its text.",
        "export const ROWS = [",
        *(f"  {{ {', '.join(f'{key}: {value}' for key, value in row.items())} }}," for row in rows(measured)),
        "];",
    ]
    (DOCUMENTS / "book/src/capacity/measured.js").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    results = []
    for case in CASES:
        for search in (False, True):
            results.append(measure(sys.argv[1], os.environ["MONGODB_URI"], case, search=search))
            print(json.dumps(results[-1]), flush=True)
    write(results)
