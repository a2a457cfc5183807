#!/usr/bin/env python3
"""Writes the fixtures of `reprise import mongo` with the libraries whose collections it reads.

    python foreign_stores.py MONGODB_URI DIRECTORY

Needs `langchain-mongodb` and `openai-agents[mongodb]`. The sessions are the same in both layouts: one whose id is an id of
a chat, and one whose id is not. Ids of documents differ in each run.
"""

import asyncio
import sys
from pathlib import Path

from agents.extensions.memory import MongoDBSession
from bson import json_util
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_mongodb import MongoDBChatMessageHistory
from pymongo import MongoClient

SESSIONS = ("session_1", "zoe@example.org/2")


def write_langchain(uri: str) -> None:
    call = {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}
    for session_id in SESSIONS:
        history = MongoDBChatMessageHistory(uri, session_id)
        history.add_message(HumanMessage("Where is it sunny?"))
        history.add_message(AIMessage("", id="run-1", tool_calls=[call]))
        history.add_message(ToolMessage("clear", tool_call_id="call_1", name="weather", artifact={"sky": 1}))
        history.add_messages([AIMessage("Oslo is sunny.", usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13})])


async def write_agents(uri: str) -> None:
    for session_id in SESSIONS:
        session = MongoDBSession.from_uri(session_id, uri=uri, database="agents")
        await session.add_items([{"role": "user", "content": "Where is it sunny?"}])
        await session.add_items([
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "clear"},
        ])
        text = {"type": "output_text", "text": "Oslo is sunny.", "annotations": []}
        await session.add_items([{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}])
        await session.close()


def dump(uri: str, database: str, collection: str, path: Path) -> None:
    documents = MongoClient(uri)[database][collection].find()
    path.write_text("".join(json_util.dumps(document, json_options=json_util.RELAXED_JSON_OPTIONS) + "\n" for document in documents))


if __name__ == "__main__":
    uri, directory = sys.argv[1], Path(sys.argv[2])
    write_langchain(uri)
    asyncio.run(write_agents(uri))
    dump(uri, "chat_history", "message_store", directory / "langchain.jsonl")
    dump(uri, "agents", "agent_messages", directory / "openai-agents.jsonl")
