"""Calls that need a newer format: they are refused and change nothing until the upgrade is finished, and then they work."""

from __future__ import annotations

from client import Client
from processes import STEADY_APP, Fault, Service

CHAT = f"/api/chats/{STEADY_APP}/steady-pending"
# The shape that `reprise upgrade` names, and a call that needs it. They are made in this order.
CALLS: list[tuple[str, str, str, object]] = [
    ("forks", "POST", f"{CHAT}/fork", {"chat_id": "steady-pending-fork"}),
    ("lists by activity", "GET", f"/api/chats/{STEADY_APP}?order_by=active", None),
    ("title search", "GET", f"/api/chats/{STEADY_APP}?title_contains=lake", None),
    ("lists by title", "GET", f"/api/chats/{STEADY_APP}?order_by=title", None),
    ("message search", "GET", f"/api/search/{STEADY_APP}?q=lake", None),
    ("statistics of users", "GET", f"/api/user-stats/{STEADY_APP}", None),
    ("runs of tools", "POST", f"{CHAT}/tool-runs", {"run_id": "run-1", "tool_name": "Search"}),
    ("assistants", "PUT", f"/api/assistants/{STEADY_APP}/early", {"name": "Early"}),
    ("documents", "PUT", f"/api/documents/{STEADY_APP}/early/plan", {"lake": "north"}),
    ("streams", "POST", f"{CHAT}/streams", {"stream_id": "stream-1", "format": "text"}),
    ("deleted chats", "DELETE", CHAT, None),
]


async def create(client: Client) -> None:
    """Creates the chat that the calls are about."""
    await client.call("POST", f"/api/chats/{STEADY_APP}", {"chat_id": "steady-pending", "workflow_name": "Early"})


async def verify_refused(client: Client, service: Service, pending: frozenset[str]) -> None:
    """Every call whose shape is pending is refused by a service."""
    for shape, method, path, body in CALLS:
        if shape in pending:
            answer = await client.ask(service.url, method, path, body)
            if answer.status_code != 503 or "upgrade-pending" not in answer.text:
                raise Fault(f"{service.release.name}: {method} {path} before the end: {answer.status_code} {answer.text}")


async def verify_served(client: Client, service: Service, pending: frozenset[str]) -> None:
    """Every call whose shape was pending is served by a service."""
    for shape, method, path, body in CALLS:
        if shape in pending:
            answer = await client.ask(service.url, method, path, body)
            if not answer.is_success:
                raise Fault(f"{service.release.name}: {method} {path} after the end: {answer.status_code} {answer.text}")
