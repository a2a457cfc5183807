"""Chats of every kind, filled by the previous release: during and after the upgrade, both releases show them as they were."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from client import Client
from processes import STEADY_APP, Fault

CHATS = f"/api/chats/{STEADY_APP}"
VISIBILITIES = ("private", "team", "link", "app")
DIALECTS = ("ag2", "openai")
ERASED_WITHIN_SEC = 60
READ_AT_ONCE = 6
# What changes by itself, and what differs in every answer.
VOLATILE = {"stalled", "duration_sec", "http_request_id"}


@dataclass
class Steady:
    """The chats, and the paths under which everything about them is read."""

    pending: frozenset[str]
    paths: list[str] = field(default_factory=list[str])
    # Read by each person.
    shared_paths: list[str] = field(default_factory=list[str])

    async def fill(self, client: Client, operator: Client) -> None:
        """Writes everything that the format of the database permits."""
        await self._fill_visibilities(client)
        await self._fill_long_chat(client)
        await self._fill_questions(client)
        await self._fill_contexts(client)
        await self._fill_usage(client)
        await self._fill_turns(client)
        await self._fill_archived(client)
        for shape, fill in {
            "forks": self._fill_forks,
            "deleted chats": self._fill_deleted,
            "runs of tools": self._fill_tool_runs,
            "assistants": self._fill_assistants,
            "documents": self._fill_documents,
            "streams": self._fill_streams,
        }.items():
            if shape not in self.pending:
                await fill(client)
        if "deleted chats" not in self.pending:
            await self._erase(client, operator)
        self.paths += [f"{CHATS}?limit=100", f"/api/stats/{STEADY_APP}", f"/api/agent-stats/{STEADY_APP}"]
        self.paths += [f"/api/model-stats/{STEADY_APP}", f"/api/input-requests/{STEADY_APP}"]
        if "statistics of users" not in self.pending:
            self.paths.append(f"/api/user-stats/{STEADY_APP}")

    async def _create(self, client: Client, chat_id: str, **fields: Any) -> str:
        body = {"chat_id": chat_id, "workflow_name": "Picnic", "user_id": "alice", "title": f"The {chat_id} chat", **fields}
        await client.call("POST", CHATS, body)
        path = f"{CHATS}/{chat_id}"
        self.paths += [path, f"{path}/meta", f"{path}/messages?after=-1&limit=1000"]
        self.paths += [f"{path}/history?dialect={dialect}" for dialect in DIALECTS]
        return path

    async def _append(self, client: Client, path: str, name: str, count: int, *, first: int = 0) -> None:
        messages = [
            {
                "event_id": f"{name}-{it}",
                "role": ("user", "assistant")[it % 2],
                "name": name,
                "content": f"{name} {it} " + "x " * 80,
            }
            for it in range(first, first + count)
        ]
        await client.call("POST", f"{path}/messages", {"messages": messages})

    async def _fill_visibilities(self, client: Client) -> None:
        for visibility in VISIBILITIES:
            path = await self._create(client, f"steady-{visibility}", visibility=visibility, team_id="blue")
            await self._append(client, path, visibility, 3)
            self.shared_paths += [path, f"{path}/messages?after=-1"]
        await client.call("PUT", f"{CHATS}/steady-private/members/dora", {"role": "reader"})
        await client.call("POST", f"{CHATS}/steady-team/participants", {"user_id": "bob", "display_name": "Bob"})
        self.paths += [f"{CHATS}/steady-private/members", f"{CHATS}/steady-team/participants"]
        self.shared_paths += [f"{CHATS}?limit=100", f"{CHATS}?limit=100&scope=app"]

    async def _fill_long_chat(self, client: Client) -> None:
        path = await self._create(client, "steady-long")
        # Small batches, which are sealed later, and large ones, which are sealed at once.
        for first in range(0, 200, 10):
            await self._append(client, path, "small", 10, first=first)
        for first in range(0, 400, 100):
            await self._append(client, path, "large", 100, first=first)
        await self._append(client, path, "tail", 7)
        for sequence in (3, 250, 604):
            await client.call("PATCH", f"{path}/messages/{sequence}", {"content": f"edited {sequence}"})
        for sequence in (5, 251, 605):
            await client.call("DELETE", f"{path}/messages/{sequence}")

    async def _fill_questions(self, client: Client) -> None:
        path = await self._create(client, "steady-questions")
        for name in ("answered", "cancelled", "pending"):
            question = {"request_id": f"ask-{name}", "prompt": "Which lake?", "kind": "choice", "options": ["north", "south"]}
            await client.call("POST", f"{path}/input-requests", question)
        answer = {"event_id": "answer-1", "content": "north", "author": {"user_id": "bob", "display_name": "Bob"}}
        await client.call("POST", f"{path}/input-requests/ask-answered/answer", answer)
        await client.call("POST", f"{path}/input-requests/ask-cancelled/cancel", {"reason": "too late"})
        self.paths.append(f"{path}/input-requests")

    async def _fill_contexts(self, client: Client) -> None:
        path = await self._create(client, "steady-context", metadata={"tags": ["x"]})
        for number in range(3):
            await client.call("PUT", f"{path}/context", {"number": number, "large": "x" * 20_000 * number})
        await client.call("PATCH", f"{path}/context", {"merged": True})
        await client.call("PUT", f"{path}/artifact", {"ui_tool_id": "map", "payload": {"$set": {"lat": 52.5}}})
        self.paths += [f"{path}/context", f"{path}/context/history", f"{path}/artifact"]

    async def _fill_usage(self, client: Client) -> None:
        path = await self._create(client, "steady-usage")
        call = {"agent": "planner", "provider": "local", "model": "small", "prompt_tokens": 30, "completion_tokens": 40}
        calls = [{**call, "call_id": f"call-{it}", "cost_micros_usd": 50, "duration_ms": 60} for it in range(5)]
        await client.call("POST", f"{path}/calls", {"calls": calls})
        await client.call("DELETE", f"{path}/calls/call-4")
        wallet = f"/api/wallets/{STEADY_APP}/alice"
        await client.call("POST", f"{wallet}/ensure", {"initial_balance": 100})
        await client.call("POST", f"{wallet}/credit", {"entry_id": "credit-1", "amount": 50, "reason": "a gift"})
        await client.call("POST", f"{wallet}/debit", {"entry_id": "debit-1", "amount": 30})
        await client.call("POST", f"{path}/complete", {})
        self.paths += [f"{path}/calls", wallet, f"{wallet}/entries"]

    async def _fill_turns(self, client: Client) -> None:
        path = await self._create(client, "steady-turns")
        message = {"role": "user", "name": "user", "content": "Plan a picnic"}
        call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        asked = {"role": "assistant", "name": "planner", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
        whole = {"request_id": "turn-1", "outcome": "completed", "connector": "c1", "mode": "task"}
        await client.call("POST", f"{path}/turns", {**whole, "messages": [message, asked, result]})
        step = {"type": "llm", "status": "running", "assistant_id": "planner", "stack_id": "stk_1", "input": {"messages": []}}
        broken = {"request_id": "turn-2", "outcome": "interrupted", "messages": [message], "steps": [step]}
        await client.call("POST", f"{path}/turns", broken)
        self.paths += [f"{path}/resume-points", f"{path}/resume"]

    async def _fill_forks(self, client: Client) -> None:
        path = f"{CHATS}/steady-fork"
        await client.call(
            "POST", f"{CHATS}/steady-long/fork", {"chat_id": "steady-fork", "sequence": 500, "title": "Another end"}
        )
        await client.call("PATCH", f"{path}/messages/10", {"content": "edited in the fork"})
        await client.call("PATCH", f"{CHATS}/steady-long/messages/12", {"content": "edited in the source"})
        await client.call("DELETE", f"{path}/messages/11")
        await self._append(client, path, "fork", 50)
        self.paths += [path, f"{path}/messages?after=-1&limit=1000", *(f"{path}/history?dialect={it}" for it in DIALECTS)]

    async def _fill_archived(self, client: Client) -> None:
        path = await self._create(client, "steady-archived")
        await self._append(client, path, "archived", 40)
        await client.call("POST", f"{path}/archive")
        self.paths.append(f"{CHATS}?limit=100&lifecycle=archived")

    async def _fill_deleted(self, client: Client) -> None:
        deleted = await self._create(client, "steady-deleted")
        await self._append(client, deleted, "deleted", 40)
        await client.call("DELETE", deleted)

    async def _fill_tool_runs(self, client: Client) -> None:
        run = {"tool_name": "WebSearch", "agent": "planner", "parameters": {"query": "lakes"}, "result": {"hits": 3}}
        runs = [
            {**run, "run_id": f"run-{it}", "execution_time_ms": it, "started_at": "2026-01-01T00:00:00Z"} for it in range(4)
        ]
        await client.call("POST", f"{CHATS}/steady-usage/tool-runs", {"runs": runs})
        self.paths += [
            f"{CHATS}/steady-usage/tool-runs",
            f"{CHATS}/steady-usage/tool-runs/stats",
            f"/api/tool-stats/{STEADY_APP}",
        ]

    async def _fill_assistants(self, client: Client) -> None:
        path = f"/api/assistants/{STEADY_APP}"
        await client.call("PUT", f"{path}/planner", {"name": "Planner", "tags": ["trips"], "config": {"model": "small"}})
        await client.call("PATCH", f"{path}/planner", {"description": "plans trips"})
        self.paths += [path, f"{path}/planner", f"/api/assistant-tags/{STEADY_APP}"]

    async def _fill_documents(self, client: Client) -> None:
        path = f"/api/documents/{STEADY_APP}"
        await client.call("PUT", f"{path}/notes/plan", {"lake": "north"})
        for number in range(20):
            headers = {"idempotency-key": f"line-{number}"}
            await client.send("POST", f"{path}/notes/log", content=f"line {number}\n".encode(), headers=headers)
        await client.call("PUT", f"{path}/notes/of-chat?chat_id=steady-team", {"boat": "red"})
        self.paths += [f"{path}?namespace=notes", f"{path}?namespace=notes&chat_id=steady-team", f"{path}/notes/plan"]
        self.paths += [f"{path}/notes/log", f"/api/document-namespaces/{STEADY_APP}"]

    async def _fill_streams(self, client: Client) -> None:
        path = await self._create(client, "steady-streams")
        for name in ("ended", "running"):
            await client.call("POST", f"{path}/streams", {"stream_id": f"stream-{name}", "format": "text", "agent": "planner"})
            await client.call("POST", f"{path}/streams/stream-{name}/chunks", {"from": 0, "chunks": ["It ", "rains."]})
        await client.call("POST", f"{path}/streams/stream-ended/end", {"state": "finished"})
        self.paths += [f"{path}/streams", f"{path}/streams/stream-running/chunks"]

    async def _erase(self, client: Client, operator: Client) -> None:
        path = f"{CHATS}/steady-private"
        message = {"event_id": "of-erna", "role": "user", "content": "I am Erna", "author": {"user_id": "erna"}}
        await client.call("POST", f"{path}/messages", {"messages": [message]})
        await client.call("POST", CHATS, {"chat_id": "steady-erased", "workflow_name": "Picnic", "user_id": "erna"})
        await self._append(client, f"{CHATS}/steady-erased", "erased", 40)
        erasures = f"/api/apps/{STEADY_APP}/erasures"
        begun = await operator.call("POST", erasures, {"user_id": "erna"})
        for _ in range(ERASED_WITHIN_SEC * 5):
            if (await operator.call("GET", f"{erasures}/{begun['pseudonym']}"))["finished_at"] is not None:
                return
            await asyncio.sleep(0.2)
        raise Fault(f"the erasure is not finished within {ERASED_WITHIN_SEC} s")

    async def show(self, client: Client, persons: dict[str, Client], url: str) -> dict[str, Any]:
        """Reads everything from one service: with the orchestrator's token, and what is shared also as each person."""
        shown: dict[str, Any] = {}
        turns = asyncio.Semaphore(READ_AT_ONCE)

        async def read(reader: Client, path: str, key: str) -> None:
            async with turns:
                response = await reader.ask(url, "GET", path)
            if response.status_code >= 500:
                raise Fault(f"{key}: {response.status_code} {response.text}")
            is_json = "json" in response.headers["content-type"]
            shown[key] = [response.status_code, stable(response.json()) if is_json else response.text]

        readings = [read(client, path, path) for path in self.paths]
        for name, person in persons.items():
            readings += [read(person, path, f"{path} as {name}") for path in self.shared_paths]
        await asyncio.gather(*readings)
        return shown


def stable(value: Any) -> Any:
    """Returns JSON without what changes by itself."""
    if isinstance(value, dict):
        return {key: stable(it) for key, it in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [stable(it) for it in value]
    return value


def find_difference(earlier: Any, later: Any, path: str = "") -> str | None:
    """Returns where a later answer differs from an earlier one. A newer release may add keys, and nothing else."""
    if isinstance(earlier, dict) and isinstance(later, dict):
        for key in earlier:
            if key not in later:
                return f"{path}/{key} is missing"
            if found := find_difference(earlier[key], later[key], f"{path}/{key}"):
                return found
        return None
    if isinstance(earlier, list) and isinstance(later, list) and len(earlier) == len(later):
        for number, (one, other) in enumerate(zip(earlier, later, strict=True)):
            if found := find_difference(one, other, f"{path}/{number}"):
                return found
        return None
    return None if earlier == later else f"{path}: {str(earlier)[:500]} became {str(later)[:500]}"
