"""Clocks that jump by an hour, forth and back, at the primary or at a service, while clients write.

What must hold whatever the clocks say: no acknowledged write is lost or doubled, messages stay in order, subscribers receive
each once, and a token of a lease that was taken over writes nothing. What follows the clocks is written down here as well, so
that docs/FAULTS.md stays true.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jwt
import pytest

from appending import APP, ask_once
from client import Client, Refused
from conftest import Case
from fake_clock import HOUR_SEC, Clock, find_library
from processes import Member, Service, verify_database
from tokens import AUDIENCE, SECRET
from world import Follower

JUMPS = (HOUR_SEC, 0, -HOUR_SEC, 0)
SWEPT_WITHIN_SEC = 30


@pytest.fixture
def make_clock(tmp_path: Path) -> Callable[[str], Clock]:
    """Makes clocks."""
    library = find_library()
    if library is None:
        pytest.skip("needs libfaketime, which is neither installed nor can be downloaded")
    return lambda name: Clock(library, tmp_path / f"{name}.clock")


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def parse(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


async def wait_for(condition: Callable[[], Awaitable[bool]], what: str) -> float:
    """Waits for something; returns how long it took."""
    began = time.monotonic()
    while not await condition():
        assert time.monotonic() - began < SWEPT_WITHIN_SEC, what
        await asyncio.sleep(0.2)
    return time.monotonic() - began


async def start_both(case: Case, clock: Clock, **settings: object) -> tuple[Service, Service]:
    """Starts a service, and one with a clock of its own, at a set of one member."""
    members = await case.members([Member(case.folder, 0)])
    service = await case.service(members.uri, **settings)
    return service, await case.service(members.uri, "struck", clock.environment, **settings)


def test_appends_while_the_clock_of_the_primary_jumps(case: Case, make_clock: Callable[[str], Clock]) -> None:
    async def go() -> None:
        async with case.running():
            clock = make_clock("primary")
            struck = Member(case.folder, 0, environment=clock.environment)
            members = await case.members([struck, *(Member(case.folder, it) for it in (1, 2))], first_choice=0)
            service = await case.service(members.uri)
            load = await case.load(service)
            follower = Follower(load.world, load.chats[0], "follower")
            await asyncio.sleep(2)
            for ahead in JUMPS:
                began = time.monotonic()
                clock.set(ahead)
                await asyncio.sleep(6)
                ahead_now = (struck.ask("hello")["localTime"].replace(tzinfo=datetime.UTC) - now()).total_seconds()
                assert abs(ahead_now - ahead) < 5, "the clock has not jumped"
                print(f"primary {ahead:+d} s: longest time without an append {load.longest_gap_sec(began):.1f} s")
            assert await members.primary() is struck
            await load.stop()
            await load.verify()
            await follower.verify()
            assert not load.world.findings
            assert {outcome for _, outcome in load.world.tally.answers} <= {"200", "201"}, load.world.tally.answers
            await verify_database(service)

    asyncio.run(go())


def test_appends_while_the_clock_of_a_service_jumps(case: Case, make_clock: Callable[[str], Clock]) -> None:
    async def go() -> None:
        async with case.running():
            clock = make_clock("service")
            service, struck = await start_both(case, clock)
            load = await case.load(service, struck)
            follower = Follower(load.world, load.chats[0], "follower")
            await asyncio.sleep(2)
            minted: list[str] = []
            for ahead in JUMPS:
                clock.set(ahead)
                for _ in range(20):
                    minted += await say_without_id(struck)
                    await asyncio.sleep(0.1)
                page = (await ask_once(struck, "GET", f"{load.chats[0].path}/messages?newest=1")).json()
                print(f"service {ahead:+d} s: the newest message was created at {page['data'][0]['created_at']}, it is {now()}")
            assert len(set(minted)) == len(minted) == 20 * len(JUMPS), "an id was minted twice"
            clock.set(0)
            await load.stop()
            await load.verify()
            await follower.verify()
            assert not load.world.findings
            # A token that was made after the jump back is not of the future for long.
            assert {outcome for _, outcome in load.world.tally.answers} <= {"200", "201"}, load.world.tally.answers
            await verify_database(service)

    asyncio.run(go())


async def say_without_id(service: Service) -> list[str]:
    """Appends a message whose id the service mints."""
    path = f"/api/chats/{APP}/minted"
    await ask_once(service, "PUT", path, {"workflow_name": "Picnic"})
    answer = await ask_once(service, "POST", f"{path}/messages", {"role": "user", "content": "what time is it?"})
    assert answer.status_code == 201, answer.text
    return [it["event_id"] for it in answer.json()["messages"]]


def test_leases_while_the_clock_of_a_service_jumps(case: Case, make_clock: Callable[[str], Clock]) -> None:
    """A service ahead takes a lease away early; the worker is fenced then, and two workers never write at once."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("service")
            service, struck = await start_both(case, clock)
            load = await case.load(service, writers=1)
            client, chat = load.client, load.chats[0]
            lease = await acquire(client, chat.path, "worker-1", 600_000)
            await write_under(client, chat.path, lease["fencing_token"], "first")
            clock.set(HOUR_SEC)

            async def is_swept() -> bool:
                found = await client.call("read a lease", "GET", f"{chat.path}/lease")
                return found["lease"] is None

            took = await wait_for(is_swept, "the service ahead has not swept the lease")
            print(f"a lease of 600 s was swept {took:.1f} s after the clock of one service had jumped an hour ahead")
            with pytest.raises(Refused, match="fenced"):
                await write_under(client, chat.path, lease["fencing_token"], "too late")
            await client.call("reopen", "POST", f"{chat.path}/reopen")
            # Behind: the lease lives longer at this service, and the fencing token alone decides.
            clock.set(-HOUR_SEC)
            second = await acquire(client, chat.path, "worker-2", 1000)
            assert second["fencing_token"] > lease["fencing_token"]
            await asyncio.sleep(1.5)
            third = await acquire(client, chat.path, "worker-3", 600_000)
            assert third["fencing_token"] > second["fencing_token"]
            response = await ask_once(
                struck,
                "POST",
                f"{chat.path}/messages",
                {"event_id": "late-2", "role": "assistant", "content": "late"},
                headers={"fencing-token": str(second["fencing_token"])},
            )
            assert response.json()["code"] == "fenced", response.text
            # Given ahead, a lease of a second lasts an hour, unless a manager revokes it.
            await client.call("release", "DELETE", f"{chat.path}/lease/{third['fencing_token']}")
            clock.set(HOUR_SEC)
            ahead = Client([struck], client.token, load.world.tally, load.world.draw("ahead"))
            fourth = await acquire(ahead, chat.path, "worker-4", 1000)
            await ahead.close()
            await struck.kill()
            await asyncio.sleep(6)
            with pytest.raises(Refused, match="busy"):
                await acquire(client, chat.path, "worker-5", 1000)
            acquired_at = fourth["acquired_at"]
            await client.call("revoke", "DELETE", f"{chat.path}/lease?acquired_at={acquired_at}")
            fifth = await acquire(client, chat.path, "worker-5", 600_000)
            assert fifth["fencing_token"] > fourth["fencing_token"]
            await load.stop()
            stored = await load.world.read_all(chat)
            assert [it.event_id for it in stored if it.event_id in ("first", "too late", "late-2")] == ["first"]
            await verify_database(service)

    asyncio.run(go())


async def acquire(client: Client, path: str, owner: str, ttl_ms: int) -> dict[str, Any]:
    body = {"owner": owner, "lease_id": f"lease-{owner}", "ttl_ms": ttl_ms}
    return await client.call("acquire", "POST", f"{path}/lease", body)


async def write_under(client: Client, path: str, token: int, event_id: str) -> None:
    body = {"event_id": event_id, "role": "assistant", "name": "worker", "content": event_id}
    await client.call("write", "POST", f"{path}/messages", body, headers={"fencing-token": str(token)})


def test_what_ends_early_at_a_service_that_is_ahead(case: Case, make_clock: Callable[[str], Clock]) -> None:
    """Questions, documents and tokens end by the clock of the service that looks."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("service")
            service, struck = await start_both(case, clock)
            load = await case.load(service, writers=1)
            client, chat = load.client, load.chats[0]
            ask = {"request_id": "ask-1", "prompt": "Which boat?", "expires_in_sec": 1800}
            await client.call("ask", "POST", f"{chat.path}/input-requests", ask)
            document = f"/api/documents/{APP}/notes/short"
            await client.send("put", "PUT", f"{document}?ttl_seconds=1800", content=b"short")
            person = token_until(1800)
            await client.call("members", "PUT", f"{chat.path}/members/carol", {"role": "member"})
            assert await status_of(struck, chat.path, person) == 200
            clock.set(HOUR_SEC)
            await asyncio.sleep(1)
            assert (await ask_once(struck, "GET", document)).status_code == 404
            assert (await ask_once(service, "GET", document)).status_code == 200
            assert await status_of(struck, chat.path, person) == 401
            assert await status_of(service, chat.path, person) == 200

            async def has_expired() -> bool:
                found = await client.call("read", "GET", f"{chat.path}/input-requests/ask-1")
                return found["state"] == "expired"

            await wait_for(has_expired, "the service ahead has not closed the question")
            clock.set(-HOUR_SEC)
            await asyncio.sleep(1)
            assert await status_of(struck, chat.path, token_until(-1800)) == 200, "behind, an expired token is accepted"
            assert await status_of(service, chat.path, token_until(-1800)) == 401
            clock.set(0)
            await load.stop()
            await load.verify()
            await verify_database(service)

    asyncio.run(go())


def token_until(valid_sec: int, **more: str) -> str:
    """A token of a person that is valid for some seconds, or has been invalid for some."""
    at = int(time.time())
    claims = {"sub": "carol", "apps": "*", "aud": AUDIENCE, "iat": at - HOUR_SEC * 3, "exp": at + valid_sec, **more}
    return jwt.encode(claims, SECRET, "HS256")


async def status_of(service: Service, path: str, token: str) -> int:
    """Returns the status of a read with a token."""
    response = await ask_once(service, "GET", path, headers={"authorization": f"Bearer {token}"})
    return response.status_code


def test_presence_while_the_clock_of_a_service_jumps(case: Case, make_clock: Callable[[str], Clock]) -> None:
    """People at a service whose clock is right are shown there, whatever the clock of another one says."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("service")
            service, struck = await start_both(case, clock, limits__presence_expiry_ms=3000)
            load = await case.load(service, writers=1)
            chat = load.chats[0]
            alice = Client([service], load.client.as_person("alice").token, load.world.tally, load.world.draw("alice"))
            listening = asyncio.create_task(listen(alice, chat.path))
            shown: dict[tuple[str, int], int] = {}
            for ahead in JUMPS:
                clock.set(ahead)
                await asyncio.sleep(4)
                for it in (service, struck):
                    found = (await ask_once(it, "GET", f"{chat.path}/presence")).json()
                    shown[it.name, ahead] = found["count"]
            listening.cancel()
            await alice.close()
            print(f"present: {shown}")
            # Whom a service announces while it is ahead stays for an hour, if the service is killed.
            clock.set(HOUR_SEC)
            bob = Client([struck], load.client.as_person("bob").token, load.world.tally, load.world.draw("bob"))
            await load.client.call("members", "PUT", f"{chat.path}/members/bob", {"role": "member"})
            listening = asyncio.create_task(listen(bob, chat.path))
            await asyncio.sleep(4)
            await struck.kill()
            await asyncio.sleep(8)
            found = (await ask_once(service, "GET", f"{chat.path}/presence")).json()
            print(f"of a service that was ahead, and killed: {found['present']}")
            assert [it["user_id"] for it in found["present"]] == ["bob"], found
            await asyncio.gather(listening, return_exceptions=True)
            await bob.close()
            await load.stop()
            await load.verify()
            assert all(shown["service-1", ahead] == 1 for ahead in JUMPS), shown
            assert shown["struck", 0] == 1, shown

    asyncio.run(go())


async def listen(client: Client, path: str) -> None:
    async for _ in client.events(path, None):
        pass


def test_the_search_when_its_leader_dies_while_the_primary_is_ahead(case: Case, make_clock: Callable[[str], Clock]) -> None:
    """Each service indexes what it writes. What it did not come to waits until the time of the dead leader is over."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("primary")
            members = await case.members([Member(case.folder, 0, environment=clock.environment)])
            leader = await case.service(members.uri, "leader")
            load = await case.load(leader, writers=1)
            with members.client() as database:
                progress = database["drills"]["search_progress"]

                async def seconds_led() -> float:
                    found = await asyncio.to_thread(progress.find_one, {"_id": "*"})
                    until = found and found["leads_until"].replace(tzinfo=datetime.UTC)
                    return (until - now()).total_seconds() if until else 0

                async def leads_far() -> bool:
                    return await seconds_led() > HOUR_SEC / 2

                clock.set(HOUR_SEC)
                await wait_for(leads_far, "the leader has not renewed its time")
                second = await case.service(members.uri, "second")
                third = await case.service(members.uri, "third")
                await load.stop()
                await leader.kill()
                clock.set(0)
                path = f"/api/chats/{APP}/second"
                await ask_once(second, "PUT", path, {"workflow_name": "Picnic"})
                body = {"event_id": "evt-1", "role": "user", "content": "a kingfisher"}
                await ask_once(third, "POST", f"{path}/messages", body)

                async def is_found() -> bool:
                    return bool((await find(third, "kingfisher"))["data"])

                await wait_for(is_found, "a service has not indexed what it has written")
                body = {"event_id": "evt-2", "role": "user", "content": "a nightjar"}
                assert (await ask_once(second, "POST", f"{path}/messages", body)).status_code == 201
                await second.kill()
                await asyncio.sleep(15)
                found = await find(third, "nightjar")
                left = await seconds_led()
                print(f"of a killed service: {len(found['data'])}, behind {found['behind_ms']} ms, no leader for {left:.0f} s")
                assert not found["data"] and found["behind_ms"] > 15_000 and left > HOUR_SEC / 2
                await verify_database(third)

    asyncio.run(go())


async def find(service: Service, word: str) -> dict[str, Any]:
    return (await ask_once(service, "GET", f"/api/search/{APP}?q={word}")).json()


def test_what_a_primary_that_is_ahead_removes_early(case: Case, make_clock: Callable[[str], Clock]) -> None:
    """The database removes documents with an end by its own clock, but keeps revocations for a day longer."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("primary")
            members = await case.members([Member(case.folder, 0, environment=clock.environment)])
            service = await case.service(members.uri, limits__recheck_ms=500, limits__presence_expiry_ms=3000)
            load = await case.load(service, writers=1)
            path, token = load.chats[0].path, token_until(1800, jti="token-1")
            await load.client.call("members", "PUT", f"{path}/members/carol", {"role": "member"})
            assert await status_of(service, path, token) == 200
            until = (now() + datetime.timedelta(seconds=1800)).strftime("%Y-%m-%dT%H:%M:%SZ")
            await service.tell("tokens", "revoke", "--id", "token-1", "--expires", until)
            document = f"/api/documents/{APP}/notes/short"
            await load.client.send("put", "PUT", f"{document}?ttl_seconds=1800", content=b"short")
            carol = Client([service], token_until(1800), load.world.tally, load.world.draw("carol"))
            listening = asyncio.create_task(listen(carol, path))
            await asyncio.sleep(1.5)
            assert await status_of(service, path, token) == 401
            assert (await ask_once(service, "GET", document)).status_code == 200
            clock.set(HOUR_SEC)

            async def is_removed() -> bool:
                return (await ask_once(service, "GET", document)).status_code == 404

            took = await wait_for(is_removed, "the primary has not removed the document")
            counts = [(await ask_once(service, "GET", f"{path}/presence")).json()["count"] for _ in range(20)]
            listening.cancel()
            await carol.close()
            print(f"a document of 1800 s was removed after {took:.1f} s; present meanwhile: {counts}")
            with members.client() as client:
                assert client["drills"]["revocations"].count_documents({}) == 1
            started = await case.service(members.uri, "started-later")
            for accepting in (service, started):
                assert await status_of(accepting, path, token) == 401, accepting.name
            clock.set(0)
            await load.stop()
            await load.verify()
            await verify_database(service)

    asyncio.run(go())


@pytest.mark.parametrize("ahead", [HOUR_SEC, -HOUR_SEC])
def test_what_a_service_with_another_clock_writes_is_signed(case: Case, make_clock: Callable[[str], Clock], ahead: int) -> None:
    """The passes of another service find chats by the time of their last change, which the wrong clock has set."""

    async def go() -> None:
        async with case.running():
            clock = make_clock("service")
            members = await case.members([Member(case.folder, 0)])
            service = await case.service(members.uri)
            # It signs once, when it starts.
            struck = await case.service(members.uri, "struck", clock.environment, integrity__interval_ms=3_600_000)
            load = await case.load(service, writers=1)
            client = load.client
            await asyncio.sleep(3)
            clock.set(ahead)
            await asyncio.sleep(1)
            path = f"/api/chats/{APP}/elsewhere"
            body = {"event_id": "evt-1", "role": "user", "content": "a kingfisher"}
            assert (await ask_once(struck, "PUT", path, {"workflow_name": "Picnic"})).status_code == 201
            assert (await ask_once(struck, "POST", f"{path}/messages", body)).status_code == 201

            async def is_signed() -> bool:
                return (await client.call("prove", "GET", f"{path}/messages/0/proof"))["verdict"] == "signed"

            if ahead < 0:
                # Passes look three minutes back; the first one of a process looks at every chat.
                await asyncio.sleep(6)
                assert not await is_signed()
                await struck.kill()
                await case.service(members.uri, "started-later")
            took = await wait_for(is_signed, "not signed")
            print(f"{ahead:+d} s: signed after {took:.1f} s")
            await load.stop()

    asyncio.run(go())
