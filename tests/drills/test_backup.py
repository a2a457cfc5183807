"""Backups that are made under load, and restored: what was acknowledged before one began is in it."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pymongo

from appending import APP, Appending
from conftest import Case
from processes import BINARY, SET_NAME, Fault, Member, ReplicaSet, Service, until, verify_database
from world import Chat

WALLET = f"/api/wallets/{APP}/alice"


async def remember(load: Appending) -> list[Chat]:
    """Writes one of each other record, and returns the chats as they were acknowledged until now."""
    client, path = load.client, load.chats[0].path
    await client.call("put a context", "PUT", f"{path}/context", {"state": "before"})
    await client.call("record a call", "POST", f"{path}/calls", {"call_id": "call-1", "agent": "a", "prompt_tokens": 5})
    await client.call("ask", "POST", f"{load.chats[1].path}/input-requests", {"request_id": "ask-1", "prompt": "Which?"})
    await client.call("ensure a wallet", "POST", f"{WALLET}/ensure", {"initial_balance": 100})
    await client.call("credit", "POST", f"{WALLET}/credit", {"entry_id": "entry-1", "amount": 23})
    return [it.fork(it.chat_id, len(it.messages), it.owner) for it in load.chats]


async def verify_restored(load: Appending, known: list[Chat], restored: Service) -> int:
    """Each chat has what was known before the backup, in its place, and what follows is what was acknowledged later."""
    world = type(load.world)([restored], "restored", 1)
    later = 0
    client, path = world.orchestrator, load.chats[0].path
    try:
        assert (await client.call("read", "GET", f"{path}/context"))["context_snapshot"] == {"state": "before"}
        assert [it["call_id"] for it in await client.read_list("read", f"{path}/calls", 100)] == ["call-1"]
        questions = await client.read_list("read", f"{load.chats[1].path}/input-requests", 100)
        assert [(it["request_id"], it["state"]) for it in questions] == [("ask-1", "pending")]
        assert (await client.call("read", "GET", WALLET))["balance"] == 123
        for before, now in zip(known, load.chats, strict=True):
            stored = await world.read_all(now)
            if len(stored) < len(before.messages):
                raise Fault(f"{now.chat_id}: {len(before.messages)} were acknowledged before, {len(stored)} are restored")
            part = now.fork(now.chat_id, len(stored), now.owner)
            if found := part.find_differences(stored):
                raise Fault(f"{found[:5]}")
            later += len(stored) - len(before.messages)
            await world.append(part, [(f"{now.chat_id}-restored", "and it goes on")], "append a message")
    finally:
        await world.close()
    return later


def test_an_archive_that_is_exported_under_load_is_restored_elsewhere(case: Case) -> None:
    async def go() -> None:
        async with case.running():
            members = await case.members([Member(case.folder, number) for number in range(3)])
            service = await case.service(members.uri)
            load = await case.load(service, prefilled=1000)
            await asyncio.sleep(5)
            known = await remember(load)
            archive = case.folder / "archive.ndjson"
            with archive.open("wb") as file:
                environment = {**os.environ, **service.environment}
                process = await asyncio.create_subprocess_exec(BINARY, "export", "app", APP, env=environment, stdout=file)
                assert await process.wait() == 0
            await asyncio.sleep(1)
            await load.stop()
            await load.verify()
            restored = await case.service(members.uri, "restored", mongo__database="restored")
            said = await restored.tell("import", "archive", archive)
            later = await verify_restored(load, known, restored)
            print(f"{sum(len(it.messages) for it in known)} messages before, {later} during the export; {said.split()[:3]}")
            await verify_database(restored)
            await verify_database(service)

    asyncio.run(go())


async def copy_locked(member: Member, folder: Path, load: Appending) -> None:
    """Copies the files of a member, which keeps them as they are meanwhile, and lets the load go on with the others."""
    with pymongo.MongoClient(member.address, directConnection=True) as client:
        await asyncio.to_thread(client.admin.command, "fsync", lock=True)
        try:
            locked = load.count()
            await asyncio.to_thread(shutil.copytree, member.dbpath, folder)
            await until(lambda: load.count() > locked + 5, "appends while the files are locked", 60)
        finally:
            await asyncio.to_thread(client.admin.command, "fsyncUnlock")
    # What belongs to the running process.
    (folder / "mongod.lock").unlink(missing_ok=True)


async def start_copy(folder: Path, dbpath: Path) -> ReplicaSet:
    """Starts a mongod on copied files, as a set of one member."""
    member = Member(folder, 9, dbpath=dbpath)
    member.start()
    await until(lambda: member.ask("ping"), "the copy to answer")
    config = {"_id": SET_NAME, "version": 100, "members": [{"_id": 0, "host": member.address}]}
    await until(lambda: member.ask("replSetReconfig", config, force=True), "the copy to be a set of its own")
    members = ReplicaSet([member])
    await members.wait_until_whole()
    return members


def test_the_files_of_a_secondary_that_are_copied_under_load_are_a_database(case: Case) -> None:
    async def go() -> None:
        async with case.running():
            members = await case.members([Member(case.folder, number) for number in range(3)])
            service = await case.service(members.uri)
            load = await case.load(service, prefilled=1000)
            await asyncio.sleep(5)
            primary = await members.primary()
            secondary = next(it for it in members.members if it is not primary)
            known = await remember(load)
            # A secondary has what the majority has; what was acknowledged may reach this one a moment later.
            await until(lambda: _has_all(secondary, known), "the secondary to have what was acknowledged", 30)
            await copy_locked(secondary, case.folder / "copy", load)
            await asyncio.sleep(1)
            await load.stop()
            await load.verify()
            await asyncio.sleep(3)
            copy = await start_copy(case.folder, case.folder / "copy")
            try:
                restored = await case.service(copy.uri, "restored")
                later = await verify_restored(load, known, restored)
                print(f"{sum(len(it.messages) for it in known)} messages before, {later} until the files were locked")
                await verify_database(restored)
                # A backup is older than what was exported of the chains later: that is found.
                checkpoints = case.folder / "checkpoints.jsonl"
                checkpoints.write_text(await service.tell("export", "checkpoints", "--app", APP))
                said = await restored.run("check", "--deep", "--checkpoints", checkpoints)
                assert said.status == 1 and "an exported checkpoint" in said.text, said.text
                await restored.kill()
            finally:
                await copy.end()
            await verify_database(service)

    asyncio.run(go())


def _has_all(secondary: Member, known: list[Chat]) -> bool:
    with pymongo.MongoClient(
        secondary.address, directConnection=True, read_preference=pymongo.ReadPreference.SECONDARY
    ) as client:
        sessions = client["drills"]["chat_sessions"]
        stored = {it["_id"]: it["last_sequence"] for it in sessions.find({}, {"last_sequence": 1})}
        return all(stored.get(it.chat_id, 0) >= len(it.messages) for it in known)
