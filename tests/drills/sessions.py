"""Short chats in which a worker does everything that the API offers, step by step, with a subscriber each."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from client import Client, Refused
from talks import APP
from world import PERSONS, Chat, Follower, World, make_text

LEASE_MS = 120_000
SWEPT_WITHIN_SEC = 240


class Workers:
    """Workers that go through one short chat after the other."""

    def __init__(self, world: World, count: int) -> None:
        self._world = world
        self._count = count

    def start(self) -> list[asyncio.Task[None]]:
        """Starts the workers."""
        return [asyncio.create_task(self._work(number)) for number in range(self._count)]

    async def _work(self, number: int) -> None:
        world, draw = self._world, self._world.draw(f"worker {number}")
        count = 0
        while not world.is_stopping:
            chat = await world.create_chat(APP, f"session-{number}-{count}", draw.choice(PERSONS))
            session = Session(world, chat, draw)
            try:
                await session.run()
            except Refused as refused:
                world.find(f"{chat.chat_id}: {refused}")
            finally:
                session.follower.end()
            count += 1


class Session:
    """One chat of a worker."""

    def __init__(self, world: World, chat: Chat, draw: random.Random) -> None:
        self._world = world
        self._chat = chat
        self._draw = draw
        self._client = world.orchestrator
        self._number = 0
        self._token: int | None = None
        self._token_until = 0.0
        self._asked: set[str] = set()
        self.follower = Follower(world, chat, chat.chat_id)

    @property
    def _owner(self) -> Client:
        return self._world.persons[self._chat.owner]

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    async def _call(self, kind: str, method: str, path: str, body: object = None, *, is_fenced: bool = True) -> Any:
        headers = {"fencing-token": str(self._token)} if is_fenced and self._token else {}
        return await self._client.call(kind, method, f"{self._chat.path}{path}", body, headers=headers)

    async def run(self) -> None:
        """Goes through some steps, and ends the chat in one way or another."""
        steps: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (4, self._say),
            (3, self._append),
            (4, self._write_turn),
            (3, self._resume_turn),
            (3, self._record_call),
            (3, self._exchange),
            (2, self._run_tool),
            (4, self._ask),
            (1, self._let_question_expire),
            (4, self._change_context),
            (2, self._put_artifact),
            (5, self._stream),
            (2, self._take_over_stream),
            (3, self._change_messages),
            (2, self._fork),
            (2, self._put_aside),
            (2, self._delete_and_restore),
            (3, self._lease),
            (1, self._let_lease_expire),
            (1, self._pause),
        ]
        await self._say()
        for _ in range(self._draw.randint(6, 18)):
            await self._keep_lease()
            step = self._draw.choices([it for _, it in steps], [it for it, _ in steps])[0]
            try:
                await step()
            except Refused as refused:
                # The lease has expired while the database was away.
                if refused.code != "fenced" or time.monotonic() < self._token_until:
                    raise
                self._token = None
                self._world.events["(fenced after an expiry)"] += 1
                return await self.follower.verify()
            await self._world.rest(self._draw, 1.5)
            if self._world.is_stopping:
                break
        await self._end()

    async def _say(self) -> None:
        text, event_id = make_text(self._draw), self._id("said")
        body = {"event_id": event_id, "role": "user", "name": self._chat.owner, "content": text}
        answer = await self._owner.call("say something", "POST", f"{self._chat.path}/messages", body)
        self._chat.acknowledge_all(answer, [(event_id, text)])
        self._world.note_append()

    async def _append(self) -> None:
        batch = [(self._id("written"), make_text(self._draw)) for _ in range(self._draw.choice([1, 2, 6, 33]))]
        headers = {"fencing-token": str(self._token)} if self._token else {}
        await self._world.append(self._chat, batch, "append under a lease" if headers else "append a batch", headers=headers)

    async def _write_turn(self, outcome: str = "completed") -> None:
        text = make_text(self._draw)
        body: dict[str, Any] = {"request_id": self._id("turn"), "outcome": outcome, "connector": "small"}
        body["messages"] = [
            {"role": "user", "name": "user", "content": f"Do {text}"},
            {"message_id": "m1", "role": "assistant", "name": "planner", "content": "It "},
            {"message_id": "m1", "delta": True, "content": text},
        ]
        if outcome != "completed":
            step = {"type": "llm", "status": "running", "assistant_id": "planner", "stack_id": "stk", "input": {"text": text}}
            body["steps"] = [step]
        answer = await self._call(f"write a turn ({outcome})", "POST", "/turns", body)
        self._chat.acknowledge_all(answer, [(None, f"Do {text}"), (None, f"It {text}")])
        if outcome != "completed" and answer["resume_points"] != 1:
            self._world.find(f"{self._chat.chat_id}: a turn that broke off has the resume points {answer['resume_points']}")

    async def _resume_turn(self) -> None:
        await self._write_turn(self._draw.choice(["interrupted", "failed"]))
        plan = await self._call("read a plan to resume", "GET", "/resume?dialect=openai&newest=50")
        wanted = {"continue", "retry"} | ({"await_input"} if self._asked else set())
        if plan["action"] not in wanted or len(plan["open_steps"]) != 1:
            self._world.find(
                f"{self._chat.chat_id}: after a turn that broke off, the plan is {plan['action']}, {plan['open_steps']}"
            )
        await self._write_turn()

    async def _record_call(self) -> None:
        call = self._make_call()
        await self._call("record a call", "POST", "/calls", call)
        self._chat.calls.add(call["call_id"])

    def _make_call(self) -> dict[str, Any]:
        tokens = self._draw.randint(1, 900)
        call = {"call_id": self._id("call"), "agent": "planner", "provider": "local", "model": "small"}
        return {**call, "prompt_tokens": tokens, "completion_tokens": 7, "cost_micros_usd": tokens * 3, "duration_ms": 40}

    async def _exchange(self) -> None:
        call, event_id, text = self._make_call(), self._id("exchanged"), make_text(self._draw)
        message = {"event_id": event_id, "role": "assistant", "name": "planner", "content": text}
        answer = await self._call("store an exchange", "POST", "/exchanges", {"messages": [message], "call": call})
        self._chat.acknowledge_all(answer, [(event_id, text)])
        self._chat.calls.add(call["call_id"])

    async def _run_tool(self) -> None:
        run = {"run_id": self._id("run"), "tool_name": "Search", "parameters": {"query": make_text(self._draw, 6)}}
        started_at = "2026-01-01T00:00:00Z"
        await self._call(
            "record a run of a tool", "POST", "/tool-runs", {**run, "execution_time_ms": 8, "started_at": started_at}
        )
        self._chat.tool_runs.add(run["run_id"])

    async def _ask(self) -> None:
        request_id = self._id("ask")
        question: dict[str, Any] = {"request_id": request_id, "prompt": f"Which {make_text(self._draw, 5)}?"}
        await self._call("ask", "POST", "/input-requests", question)
        self._asked.add(request_id)
        if self._draw.random() < 0.2:
            await self._call("cancel a question", "POST", f"/input-requests/{request_id}/cancel", {"reason": "no need"})
            self._chat.questions[request_id] = "cancelled"
        else:
            await self._answer(request_id, of=2 if self._draw.random() < 0.4 else 1)
        self._asked.discard(request_id)

    async def _answer(self, request_id: str, of: int) -> None:
        """Answers a question, perhaps twice at once: then one answer wins."""
        wait = self._call("wait for an answer", "GET", f"/input-requests/{request_id}?wait=20s", is_fenced=False)
        waiting = asyncio.create_task(wait)
        path = f"{self._chat.path}/input-requests/{request_id}/answer"
        bodies = [{"event_id": self._id("answer"), "content": f"the {make_text(self._draw, 8)}"} for _ in range(of)]
        calls = [self._owner.call("answer", "POST", path, it) for it in bodies]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        won = [(body, it) for body, it in zip(bodies, answers, strict=True) if isinstance(it, dict)]
        for lost in [it for it in answers if not isinstance(it, dict)]:
            if not isinstance(lost, Refused) or lost.code != "input-closed":
                waiting.cancel()
                raise lost
        if len(won) != 1:
            self._world.find(f"{self._chat.chat_id}: {len(won)} of {of} answers to {request_id} were accepted")
        for body, answer in won:
            message = answer["message"]
            self._chat.acknowledge(message["sequence"], body["event_id"], body["content"])
        self._chat.questions[request_id] = "answered"
        closed = await waiting
        if closed["state"] != "answered":
            closed = await self._call("read a question", "GET", f"/input-requests/{request_id}", is_fenced=False)
        if closed["state"] != "answered":
            self._world.find(f"{self._chat.chat_id}: {request_id} was answered, and is {closed['state']}")

    async def _let_question_expire(self) -> None:
        request_id = self._id("ask")
        await self._call("ask", "POST", "/input-requests", {"request_id": request_id, "prompt": "Now?", "expires_in_sec": 1})
        until = time.monotonic() + SWEPT_WITHIN_SEC
        path = f"/input-requests/{request_id}?wait=5s"
        while (await self._call("wait for an expiry", "GET", path, is_fenced=False))["state"] == "pending":
            if time.monotonic() > until:
                return self._world.find(f"{self._chat.chat_id}: {request_id} has not expired within {SWEPT_WITHIN_SEC} s")
        self._chat.questions[request_id] = "expired"

    async def _change_context(self) -> None:
        chat, draw = self._chat, self._draw
        if chat.context is None or draw.random() < 0.3:
            size = draw.choice([1, 5, 200])
            chat.context = {f"field-{it}": make_text(draw) for it in range(size)} | {"number": self._number}
            await self._call("put a context", "PUT", "/context", chat.context)
        else:
            change = {f"field-{draw.randrange(6)}": make_text(draw), "number": self._number}
            chat.context = {**chat.context, **change}
            await self._call("change a context", "PATCH", "/context", change)
        versions = await self._call("list versions of a context", "GET", "/context/history?limit=5", is_fenced=False)
        if len(versions["data"]) > 1 and draw.random() < 0.3:
            newest, other = versions["data"][0]["version"], versions["data"][1]["version"]
            restored = await self._call("restore a context", "POST", "/context/restore", {"version": other})
            chat.context = restored["context_snapshot"]
            await self._call("compare contexts", "GET", f"/context/diff?from={other}&to={newest}", is_fenced=False)
            wanted = await self._call("read a version", "GET", f"/context/history/{other}", is_fenced=False)
            if wanted["context_snapshot"] != chat.context:
                self._world.find(f"{chat.chat_id}: version {other} was restored, and the context is another one")

    async def _put_artifact(self) -> None:
        artifact = {"ui_tool_id": "map", "payload": {"number": self._number, "text": make_text(self._draw)}}
        await self._call("put an artifact", "PUT", "/artifact", artifact)
        self._chat.artifact = artifact["payload"]

    async def _start_stream(self) -> str:
        stream_id = self._id("stream")
        await self._call("start a stream", "POST", "/streams", {"stream_id": stream_id, "format": "text", "agent": "writer"})
        return f"/streams/{stream_id}"

    async def _send_chunks(self, stream: str, count: int, first: int = 0) -> str:
        text = ""
        for number in range(first, first + count):
            chunk = f"{self._draw.choice(['rain', 'sun', 'wind'])} {number} "
            answer = await self._call("send chunks", "POST", f"{stream}/chunks", {"from": number, "chunks": [chunk]})
            if answer["next"] != number + 1:
                self._world.find(f"{self._chat.chat_id}: chunk {number} of {stream} is followed by {answer['next']}")
            text += chunk
            await asyncio.sleep(0.15)
        return text

    async def _end_stream(self, stream: str, state: str, text: str) -> None:
        body = {"state": state, **({"error": "the model is away"} if state == "failed" else {})}
        answer = await self._call(f"end a stream ({state})", "POST", f"{stream}/end", body)
        if state == "failed":
            return
        self._chat.acknowledge_all(answer["turn"], [(None, text)])

    async def _stream(self) -> None:
        stream = await self._start_stream()
        text = await self._send_chunks(stream, self._draw.randint(1, 8))
        state = self._draw.choice(["finished", "finished", "failed", "cancelled"])
        if state == "cancelled":
            await self._owner.call("cancel a stream", "POST", f"{self._chat.path}{stream}/cancel")
        await self._end_stream(stream, state, text)

    async def _take_over_stream(self) -> None:
        """A worker starts a stream and is gone; another one takes its lease and the stream."""
        await self._release()
        await self._acquire("worker-a")
        old = self._token
        stream = await self._start_stream()
        text = await self._send_chunks(stream, 2)
        await self._release()
        await self._acquire("worker-b")
        mode = self._draw.choice(["continue", "restart"])
        await self._call("take over a stream", "POST", f"{stream}/takeover", {"mode": mode})
        late = {"from": 2, "chunks": ["too late"]}
        await self._expect_fenced("POST", f"{stream}/chunks", late, old)
        if mode == "continue":
            text += await self._send_chunks(stream, 2, first=2)
        else:
            text = await self._send_chunks(stream, 3)
        await self._end_stream(stream, "finished", text)

    async def _expect_fenced(self, method: str, path: str, body: object, token: int | None) -> None:
        try:
            headers = {"fencing-token": str(token)}
            await self._client.call("write too late", method, f"{self._chat.path}{path}", body, headers=headers)
        except Refused as refused:
            if refused.code != "fenced":
                raise
            return
        self._world.find(f"{self._chat.chat_id}: {method} {path} was accepted with the old token {token}")

    async def _change_messages(self) -> None:
        sequence = self._draw.choice([it for it, known in self._chat.messages.items() if not known.is_deleted] or [0])
        if self._chat.messages[sequence].is_deleted:
            return
        if self._draw.random() < 0.7:
            text = f"edited {make_text(self._draw)}"
            await self._call("edit a message", "PATCH", f"/messages/{sequence}", {"content": text})
            self._chat.edit(sequence, text)
        else:
            await self._call("delete a message", "DELETE", f"/messages/{sequence}")
            self._chat.delete(sequence)

    async def _fork(self) -> None:
        """Forks the chat, and goes on in the fork: nothing of it may appear here."""
        sequence = self._draw.randint(1, len(self._chat.messages))
        fork_id, owner = f"{self._chat.chat_id}-{self._id('fork')}", self._draw.choice(PERSONS)
        body = {"chat_id": fork_id, "sequence": sequence, "user_id": owner}
        await self._call("fork", "POST", "/fork", body, is_fenced=False)
        fork = self._chat.fork(fork_id, sequence, owner)
        self._world.chats.append(fork)
        await self._world.append(fork, [(self._id("forked"), make_text(self._draw)) for _ in range(2)], "append to a fork")
        shared = self._draw.randrange(sequence)
        if not fork.messages[shared].is_deleted:
            text = f"edited in the fork {make_text(self._draw)}"
            await self._client.call("edit a shared message", "PATCH", f"{fork.path}/messages/{shared}", {"content": text})
            fork.edit(shared, text)

    async def _put_aside(self) -> None:
        await self._call("archive", "POST", "/archive", is_fenced=False)
        if self._draw.random() < 0.5:
            await self._call("activate", "POST", "/activate", is_fenced=False)
        else:
            await self._say()
        found = await self._call("read a chat", "GET", "", is_fenced=False)
        if found["lifecycle"] != "active":
            self._world.find(f"{self._chat.chat_id}: was activated, and is {found['lifecycle']}")

    async def _delete_and_restore(self) -> None:
        self._chat.is_gone = True
        await self.follower.verify()
        await self._call("delete a chat", "DELETE", "", is_fenced=False)
        self._token = None
        await self._expect_gone()
        await self._call("restore a chat", "POST", "/undelete", is_fenced=False)
        self._chat.is_gone = False
        self.follower = Follower(self._world, self._chat, self._chat.chat_id)

    async def _expect_gone(self) -> None:
        try:
            await self._call("read a deleted chat", "GET", "/messages", is_fenced=False)
        except Refused as refused:
            if refused.code != "chat-not-found":
                raise
            return
        self._world.find(f"{self._chat.chat_id}: was deleted, and is read")

    async def _lease(self) -> None:
        if self._token is None:
            await self._acquire("worker")
            try:
                body = {"owner": "intruder", "lease_id": self._id("lease")}
                await self._call("acquire a lease that is held", "POST", "/lease", body, is_fenced=False)
                self._world.find(f"{self._chat.chat_id}: two workers hold the lease")
            except Refused as refused:
                if refused.code != "busy":
                    raise
        else:
            await self._release()

    async def _acquire(self, owner: str, ttl_ms: int = LEASE_MS) -> None:
        began = time.monotonic()
        body = {"owner": owner, "lease_id": self._id("lease"), "ttl_ms": ttl_ms}
        before = self._token or 0
        lease = await self._call("acquire a lease", "POST", "/lease", body, is_fenced=False)
        self._token, self._token_until = lease["fencing_token"], began + ttl_ms / 1000
        if lease["fencing_token"] <= before:
            self._world.find(f"{self._chat.chat_id}: the token {before} is followed by {lease['fencing_token']}")

    async def _release(self) -> None:
        if self._token is not None:
            await self._call("release a lease", "DELETE", f"/lease/{self._token}", is_fenced=False)
            self._token = None

    async def _keep_lease(self) -> None:
        if self._token is not None and self._token_until - time.monotonic() < LEASE_MS / 2000:
            began = time.monotonic()
            try:
                await self._call("renew a lease", "PUT", f"/lease/{self._token}", {"ttl_ms": LEASE_MS}, is_fenced=False)
                self._token_until = began + LEASE_MS / 1000
            except Refused as refused:
                if refused.code != "fenced" or time.monotonic() < self._token_until:
                    raise
                self._token = None

    async def _let_lease_expire(self) -> None:
        """A worker is gone: the sweep pauses its chat, and its token is worth nothing."""
        await self._release()
        await self._acquire("worker-c", 200)
        token, self._token = self._token, None
        until = time.monotonic() + SWEPT_WITHIN_SEC
        # A question that has just expired may keep the chat paused for a moment.
        while (await self._call("read a chat", "GET", "", is_fenced=False))["status_reason"] != "interrupted":
            if time.monotonic() > until:
                return self._world.find(f"{self._chat.chat_id}: an expired lease was not swept within {SWEPT_WITHIN_SEC} s")
            await asyncio.sleep(0.5)
        await self._expect_fenced("PUT", "/artifact", {"ui_tool_id": "map", "payload": {"late": True}}, token)
        await self._call("reopen a chat", "POST", "/reopen", is_fenced=False)

    async def _pause(self) -> None:
        await self._call("pause a chat", "POST", "/pause", {"reason": "for lunch"})
        await self._call("reopen a chat", "POST", "/reopen")

    async def _end(self) -> None:
        """Completes, fails or deletes the chat, or leaves it as it is."""
        await self._release()
        what = self._draw.choice(["complete", "complete", "fail", "leave", "delete", "purge"])
        await self.follower.verify()
        if what in ("complete", "fail"):
            await self._call(f"{what} a chat", "POST", f"/{what}", {"reason": "bad luck"} if what == "fail" else {})
            self._chat.status = {"complete": "completed", "fail": "failed"}[what]
        elif what in ("delete", "purge"):
            self._chat.is_gone = True
            await self._call(f"{what} a chat for good", "DELETE", "?purge=true" if what == "purge" else "", is_fenced=False)
            await self._expect_gone()
