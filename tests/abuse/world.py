"""An app with a chat that has some of every record."""

from __future__ import annotations

import uuid
from typing import Any

import httpx

from service import Database, Service

SECRETS = "what alice said in private"


class World:
    """The records of alice, and a way to see that they are unchanged."""

    def __init__(self, service: Service, database: Database, app: str) -> None:
        self.app, self.chat = app, f"chat-{uuid.uuid4().hex[:12]}"
        self._service, self._database = service, database
        self.orchestrator = service.orchestrator(app)
        self.path = f"/api/chats/{app}/{self.chat}"
        new = {"chat_id": self.chat, "workflow_name": "Generator", "user_id": "alice", "team_id": "blue", "title": SECRETS}
        self._made("POST", f"/api/chats/{app}", new)
        said = [{"event_id": f"evt-{n}", "role": "user", "name": "alice", "content": f"{SECRETS} {n}"} for n in range(3)]
        self._made("POST", f"{self.path}/messages", {"messages": said})
        for step in range(2):
            self._made("PUT", f"{self.path}/context", {"step": step, "secret": SECRETS})
        self._made("PUT", f"{self.path}/artifact", {"ui_tool_id": "plan", "payload": {"text": SECRETS}})
        call = {"call_id": "call-1", "agent": "planner", "requested_model": "m", "prompt_tokens": 1, "completion_tokens": 1}
        self._made("POST", f"{self.path}/calls", {**call, "cost_usd": "0.25"})
        self._made("POST", f"{self.path}/tool-runs", {"run_id": "run-1", "tool_name": "Search", "result": SECRETS})
        step = {"type": "llm", "status": "running", "assistant_id": "a", "stack_id": "stk_1", "input": {"text": SECRETS}}
        turn = {"request_id": "req-1", "outcome": "interrupted", "messages": [], "steps": [step]}
        self._made("POST", f"{self.path}/turns", turn)
        self.stream = self._made("POST", f"{self.path}/streams", {"format": "text", "agent": "writer"})["stream_id"]
        self._made("POST", f"{self.path}/streams/{self.stream}/chunks", {"from": 0, "chunks": [SECRETS]})
        self._made("POST", f"{self.path}/participants", {"user_id": "alice", "display_name": "Alice"})
        self._made("PUT", f"{self.path}/members/bob", {"role": "member"})
        self._made("POST", f"{self.path}/lease", {"owner": "worker-1", "ttl_ms": 600_000})
        self._made("POST", f"{self.path}/input-requests", {"request_id": "q1", "prompt": SECRETS})
        self._made("PUT", f"/api/assistants/{app}/helper", {"name": SECRETS, "user_id": "alice"})
        content = {"content": SECRETS.encode(), "headers": {"content-type": "text/plain"}}
        self.orchestrator.put(f"/api/documents/{app}/notes/plan?user_id=alice", **content).raise_for_status()
        self._made("POST", f"/api/wallets/{app}/alice/ensure", {"initial_balance": 100})
        self.ids = {
            "app_id": app,
            "chat_id": self.chat,
            "sequence": 0,
            "event_id": "evt-0",
            "call_id": "call-1",
            "request_id": "q1",
            "version": 1,
            "fencing_token": 1,
            "stream_id": self.stream,
            "stack_id": "stk_1",
            "user_id": "alice",
            "workflow_name": "Generator",
            "assistant_id": "helper",
            "path": "notes/plan",
        }

    def close(self) -> None:
        self.orchestrator.close()

    def _made(self, method: str, path: str, body: Any) -> Any:
        response = self.orchestrator.request(method, path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    def user(self, name: str, **claims: Any) -> httpx.Client:
        return self._service.user(name, self.app, **claims)

    def fingerprint(self) -> dict[str, str]:
        return self._database.fingerprint(self.app)
