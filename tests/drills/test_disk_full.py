"""Disks that are full: the database of a member is on a small file system of its own, which something else fills."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appending import APP, ask_once
from conftest import Case
from processes import Member, Process, until, verify_database

CLONE_NEWNS = 0x00020000
SIZE_MB = 700
FAILS_OVER_WITHIN_SEC = 30
#: Needs room on a full disk at once.
LARGE_TEXT = "what was said " * 2000


class SmallDisk:
    """A small file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", folder], check=True)
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Takes all the room that is left."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        ballast.write(b"\0" * size)
                except OSError:
                    pass

    def make_room(self) -> None:
        """Gives back what was taken."""
        self._ballast.unlink()


@pytest.fixture
def make_disk(tmp_path: Path) -> Iterator[Callable[[], SmallDisk]]:
    """Makes small file systems, in a mount namespace that ends with this process."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small file system")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        pytest.skip("needs a mount namespace of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    disks: list[SmallDisk] = []

    def make() -> SmallDisk:
        disks.append(SmallDisk(tmp_path / f"disk-{len(disks)}"))
        return disks[-1]

    yield make
    for disk in disks:
        subprocess.run(["umount", "--lazy", disk.folder], check=True)


def test_a_primary_whose_disk_is_full_is_replaced_and_nothing_is_lost(case: Case, make_disk: Callable[[], SmallDisk]) -> None:
    disk = make_disk()

    async def go() -> None:
        async with case.running():
            full = Member(case.folder, 0, dbpath=disk.folder / "data")
            others = [Member(case.folder, number) for number in (1, 2)]
            members = await case.members([full, *others], first_choice=0)
            assert await members.primary() is full
            service = await case.service(members.uri)
            load = await case.load(service, text=LARGE_TEXT)
            await asyncio.sleep(3)
            disk.fill()
            filled, before = time.monotonic(), load.count()
            await asyncio.to_thread(_wait_until_ended, full)
            successor = await members.primary()
            assert successor is not full
            await asyncio.sleep(5)
            assert load.count() > before + 20, "appends have not continued on another member"
            gap = load.longest_gap_sec(filled)
            print(f"primary ended; longest time without an acknowledged append {gap:.1f} s")
            assert gap < FAILS_OVER_WITHIN_SEC
            disk.make_room()
            full.start()
            await members.wait_until_whole()
            # It is the first choice.
            await until(lambda: members.find_primary() is full, "the member to be the primary again")
            await load.stop()
            await load.verify()
            assert not load.world.tally.without_retry_after
            await verify_database(service)

    asyncio.run(go())


def test_a_single_member_whose_disk_is_full_refuses_and_loses_nothing(case: Case, make_disk: Callable[[], SmallDisk]) -> None:
    disk = make_disk()

    async def go() -> None:
        async with case.running():
            member = Member(case.folder, 0, dbpath=disk.folder / "data")
            members = await case.members([member])
            service = await case.service(members.uri)
            load = await case.load(service, text=LARGE_TEXT)
            await asyncio.sleep(3)
            disk.fill()
            await asyncio.to_thread(_wait_until_ended, member)
            answers: Counter[str] = Counter()
            for number in range(5):
                body = {"event_id": f"refused-{number}", "role": "user", "content": "no room"}
                response = await ask_once(service, "POST", f"/api/chats/{APP}/chat-0/messages", body)
                answers[f"{response.status_code} {response.json()['code']}"] += 1
                assert response.status_code == 503, response.text
                assert int(response.headers["retry-after"]) > 0
                ready = await ask_once(service, "GET", "/api/health/ready")
                assert ready.status_code == 503, ready.text
                assert (await ask_once(service, "GET", "/api/health/live")).status_code == 200
            print(f"without a database: {dict(answers)}")
            # There is no room for its journal either: a member that is started again ends again.
            member.start()
            await asyncio.to_thread(_wait_until_ended, member)
            disk.make_room()
            member.start()
            await members.wait_until_whole()
            healed, before = time.monotonic(), load.count()
            await asyncio.sleep(5)
            assert load.count() > before, "appends have not continued"
            print(f"the first append {load.longest_gap_sec(healed):.1f} s after the member was whole, at the latest")
            await load.stop()
            await load.verify()
            assert not load.world.tally.without_retry_after
            await verify_database(service)

    asyncio.run(go())


def test_a_secondary_whose_disk_is_full_holds_up_nothing(case: Case, make_disk: Callable[[], SmallDisk]) -> None:
    disk = make_disk()

    async def go() -> None:
        async with case.running():
            full = Member(case.folder, 0, dbpath=disk.folder / "data")
            others = [Member(case.folder, number) for number in (1, 2)]
            members = await case.members([others[0], full, others[1]], first_choice=0)
            assert await members.primary() is others[0]
            service = await case.service(members.uri)
            load = await case.load(service, text=LARGE_TEXT)
            await asyncio.sleep(3)
            disk.fill()
            filled = time.monotonic()
            await asyncio.to_thread(_wait_until_ended, full)
            await asyncio.sleep(5)
            gap = load.longest_gap_sec(filled)
            print(f"secondary ended; longest time without an acknowledged append {gap:.1f} s")
            assert gap < FAILS_OVER_WITHIN_SEC
            disk.make_room()
            full.start()
            await members.wait_until_whole()
            await load.stop()
            await load.verify()
            assert {outcome for _, outcome in load.world.tally.answers} <= {"200", "201"}, load.world.tally.answers
            await verify_database(service)

    asyncio.run(go())


def test_a_private_mongod_whose_disk_is_full_ends_with_its_service(case: Case, make_disk: Callable[[], SmallDisk]) -> None:
    disk = make_disk()

    async def go() -> None:
        async with case.running():
            service = await case.service(None, mongod__data_dir=disk.folder / "data")
            load = await case.load(service, text=LARGE_TEXT)
            await asyncio.sleep(3)
            disk.fill()
            await asyncio.to_thread(_wait_until_ended, service)
            assert service.running and service.running.returncode == 1
            # Its reason is in the log of mongod, for which there may have been no room.
            assert "mongod ended with status" in service.log.read_text(), "the service has not said why it ends"
            disk.make_room()
            service.start()
            await service.wait_until_ready()
            await load.stop()
            await load.verify()
            assert not load.world.tally.without_retry_after
            await verify_database(service)

    asyncio.run(go())


def _wait_until_ended(process: Process) -> None:
    assert process.running is not None
    process.running.wait(240)
