"""Everything but plain messages, written during an upgrade: each record is acknowledged, and found again at the end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from client import Client
from load import Load
from processes import BUSY_APP, Fault

CHAT = f"/api/chats/{BUSY_APP}/records"
LEASED = f"/api/chats/{BUSY_APP}/leased"
HOUR_MS = 3_600_000
WALLET = f"/api/wallets/{BUSY_APP}/rosa"
LOG = f"/api/documents/{BUSY_APP}/logs/rounds"


@dataclass
class Records:
    """What a worker has written, round by round. `pending` are the shapes that wait for the end of the upgrade."""

    pending: frozenset[str]
    rounds: int = 0
    fencing_token: int = 0
    optional: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    async def create(self, client: Client) -> None:
        """Creates the chat and the wallet."""
        await client.call(
            "POST", f"/api/chats/{BUSY_APP}", {"chat_id": "records", "workflow_name": "Records", "user_id": "rosa"}
        )
        await client.call("POST", f"{WALLET}/ensure", {"initial_balance": 1000})
        await client.call("POST", f"/api/chats/{BUSY_APP}", {"chat_id": "leased", "workflow_name": "Records"})
        lease = {"lease_id": "lease-1", "owner": "worker-1", "ttl_ms": HOUR_MS}
        self.fencing_token = (await client.call("POST", f"{LEASED}/lease", lease))["fencing_token"]

    async def write(self, client: Client, load: Load) -> None:
        """Writes rounds until the load stops."""
        while not load.is_stopping:
            await self._write_round(client, self.rounds)
            self.rounds += 1
            await asyncio.sleep(0.1)

    async def _write_round(self, client: Client, number: int) -> None:
        call = {"call_id": f"call-{number}", "agent": "writer", "provider": "local", "model": "small", "prompt_tokens": 3}
        await client.call("POST", f"{CHAT}/calls", call | {"completion_tokens": 4, "cost_micros_usd": 5, "duration_ms": 6})
        await client.call("POST", f"{WALLET}/credit", {"entry_id": f"credit-{number}", "amount": 7})
        await client.call("POST", f"{WALLET}/debit", {"entry_id": f"debit-{number}", "amount": 2})
        question = {"request_id": f"ask-{number}", "prompt": "Which boat?"}
        await client.call("POST", f"{CHAT}/input-requests", question)
        answer = {"event_id": f"answer-{number}", "content": f"boat {number}"}
        await client.call("POST", f"{CHAT}/input-requests/ask-{number}/answer", answer)
        await client.call("PATCH", f"{CHAT}/context", {"round": number})
        await client.call("PUT", f"{CHAT}/artifact", {"ui_tool_id": "map", "payload": {"round": number}})
        turn = {"request_id": f"turn-{number}", "outcome": "completed"}
        message = {"role": "assistant", "name": "planner", "content": f"turn {number}"}
        await client.call("POST", f"{CHAT}/turns", turn | {"messages": [message]})
        await client.call("PATCH", f"{CHAT}/messages/by-id/answer-{number}", {"content": f"ship {number}"})
        await client.call("PUT", f"{LEASED}/lease/{self.fencing_token}", {"ttl_ms": HOUR_MS})
        fenced = {"event_id": f"leased-{number}", "role": "assistant", "name": "worker", "content": f"leased {number}"}
        headers = {"fencing-token": str(self.fencing_token)}
        await client.call("POST", f"{LEASED}/messages", {"messages": [fenced]}, headers=headers)
        await self._write_optional(client, number)

    async def _write_optional(self, client: Client, number: int) -> None:
        if self._has("runs of tools", number):
            run = {"run_id": f"run-{number}", "tool_name": "Search", "parameters": {"round": number}, "execution_time_ms": 8}
            await client.call("POST", f"{CHAT}/tool-runs", run | {"started_at": "2026-01-01T00:00:00Z"})
        if self._has("documents", number):
            headers = {"idempotency-key": f"line-{number}"}
            await client.send("POST", LOG, content=f"line {number}\n".encode(), headers=headers)
        if self._has("streams", number):
            stream = f"{CHAT}/streams/stream-{number}"
            await client.call("POST", f"{CHAT}/streams", {"stream_id": f"stream-{number}", "format": "text", "agent": "writer"})
            await client.call("POST", f"{stream}/chunks", {"from": 0, "chunks": ["stream ", str(number)]})
            await client.call("POST", f"{stream}/end", {"state": "finished"})
        if self._has("forks", number) and number % 5 == 0:
            await client.call("POST", f"{CHAT}/fork", {"chat_id": f"fork-{BUSY_APP}-{number}", "sequence": 2})

    def _has(self, shape: str, number: int) -> bool:
        is_written = shape not in self.pending
        if is_written:
            self.optional.setdefault(shape, []).append(number)
        return is_written

    async def verify(self, client: Client, url: str) -> None:
        """Reads everything back from one service; each record must be there once."""
        rounds = range(self.rounds)
        calls = await read_list(client, url, f"{CHAT}/calls")
        expect("calls", sorted(it["call_id"] for it in calls), sorted(f"call-{it}" for it in rounds))
        wallet = (await client.ask(url, "GET", WALLET)).json()
        expect("the balance", wallet["balance"], 1000 + 5 * self.rounds)
        entries = await read_list(client, url, f"{WALLET}/entries")
        wanted = ["initial", *(f"{kind}-{it}" for it in rounds for kind in ("credit", "debit"))]
        found = ["initial" if it["kind"] == "initial" else it["entry_id"] for it in entries]
        expect("entries of the wallet", sorted(found), sorted(wanted))
        questions = await read_list(client, url, f"{CHAT}/input-requests")
        answers = {it["request_id"]: it["state"] for it in questions}
        expect("questions", answers, {f"ask-{it}": "answered" for it in rounds})
        context = (await client.ask(url, "GET", f"{CHAT}/context")).json()["context_snapshot"]
        expect("the context", context, {"round": self.rounds - 1})
        artifact = (await client.ask(url, "GET", f"{CHAT}/artifact")).json()["last_artifact"]["payload"]
        expect("the artifact", artifact, {"round": self.rounds - 1})
        messages = await read_list(client, url, f"{CHAT}/messages?after=-1")
        streams = self.optional.get("streams", [])
        said = [text for it in rounds for text in (f"ship {it}", f"turn {it}", *([f"stream {it}"] if it in streams else []))]
        expect("messages of turns, answers and streams", [it["content"] for it in messages], said)
        leased = await read_list(client, url, f"{LEASED}/messages?after=-1")
        expect("messages under the lease", [it["content"] for it in leased], [f"leased {it}" for it in rounds])
        answer = await client.ask(url, "POST", f"{LEASED}/lease", {"lease_id": "lease-2", "owner": "worker-2"})
        expect("a second holder of the lease", (answer.status_code, answer.json().get("code")), (409, "busy"))
        await self._verify_optional(client, url)

    async def _verify_optional(self, client: Client, url: str) -> None:
        if numbers := self.optional.get("runs of tools"):
            runs = await read_list(client, url, f"{CHAT}/tool-runs")
            expect("runs of tools", sorted(it["run_id"] for it in runs), sorted(f"run-{it}" for it in numbers))
        if numbers := self.optional.get("documents"):
            lines = (await client.ask(url, "GET", LOG)).text.splitlines()
            expect("lines of the document", lines, [f"line {it}" for it in numbers])
        for number in self.optional.get("forks", []):
            if number % 5 == 0:
                fork = await read_list(client, url, f"/api/chats/{BUSY_APP}/fork-{BUSY_APP}-{number}/messages?after=-1")
                expect("messages of a fork", len(fork), 2)


async def read_list(client: Client, url: str, path: str) -> list[dict[str, Any]]:
    """Reads every page of a list from one service."""
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        joint = "&" if "?" in path else "?"
        response = await client.ask(url, "GET", f"{path}{joint}limit=100{cursor}")
        if response.status_code != 200:
            raise Fault(f"{path}: {response.status_code} {response.text}")
        page = response.json()
        items += page["data"]
        if page["next_cursor"] is None:
            return items
        cursor = f"&cursor={page['next_cursor']}"


def expect(what: str, found: object, wanted: object) -> None:
    """Fails unless what was found is what was acknowledged."""
    if found != wanted:
        raise Fault(f"{what}: found {json.dumps(found)[:2000]}, acknowledged {json.dumps(wanted)[:2000]}")
