"""Stored documents that cannot be read, and settings that protect what is stored."""

from __future__ import annotations

import time

import httpx

from service import Database, problem


def test_a_question_that_cannot_be_read_keeps_no_other_from_expiring(
    orchestrator: httpx.Client, database: Database, app: str
) -> None:
    """One broken document must not keep every chat waiting."""
    chats = []
    for number in range(3):
        made = orchestrator.post(f"/api/chats/{app}", json={"workflow_name": "w", "chat_id": f"{app}-{number}"})
        assert made.status_code == 201
        chats.append(f"/api/chats/{app}/{app}-{number}")
        asked = orchestrator.post(f"{chats[-1]}/input-requests", json={"request_id": "q", "prompt": "?", "expires_in_sec": 1})
        assert asked.status_code == 201, asked.text
    questions = database.of_service["input_requests"]
    # The oldest one, which is looked at first.
    broken = questions.update_one({"_id.chat_id": f"{app}-0"}, {"$set": {"prompt": 7, "kind": {"a": 1}}})
    assert broken.modified_count == 1
    until = time.monotonic() + 10
    statuses: list[str] = []
    while time.monotonic() < until and statuses != ["running", "running"]:
        statuses = [orchestrator.get(chat).json()["status"] for chat in chats[1:]]
        time.sleep(0.1)
    assert statuses == ["running", "running"]
    states = [orchestrator.get(f"{chat}/input-requests/q").json()["state"] for chat in chats[1:]]
    assert states == ["expired", "expired"]
    # What is broken is told as such, without what is in it.
    refused = orchestrator.get(f"{chats[0]}/input-requests/q")
    assert problem(refused) == (500, "corrupt-document")
    questions.delete_one({"_id.chat_id": f"{app}-0"})


def test_a_session_that_cannot_be_read_keeps_no_list_from_others(
    orchestrator: httpx.Client, database: Database, app: str
) -> None:
    for number in range(3):
        orchestrator.post(f"/api/chats/{app}", json={"workflow_name": "w", "chat_id": f"{app}-{number}"}).raise_for_status()
    database.of_service["chat_sessions"].update_one({"_id": f"{app}-1"}, {"$set": {"created_at": "yesterday"}})
    refused = orchestrator.get(f"/api/chats/{app}/{app}-1")
    assert problem(refused) == (500, "corrupt-document")
    assert "yesterday" not in refused.text and "created_at" not in refused.text
    assert orchestrator.get(f"/api/chats/{app}/{app}-0").status_code == 200
    appended = orchestrator.post(f"/api/chats/{app}/{app}-2/messages", json={"role": "user", "content": "x"})
    assert appended.status_code == 201
    database.of_service["chat_sessions"].delete_one({"_id": f"{app}-1"})
