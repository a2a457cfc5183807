"""Proofs of messages while services sign: what no other program has touched is never called broken."""

from __future__ import annotations

import asyncio
import re

import httpx

from conftest import Case
from processes import Member, Service, verify_database
from tokens import bearer
from world import make_text

SECONDS = 20
BROKEN_CHATS = "reprise_integrity_broken_chats"


def test_proofs_and_passes_that_overlap_call_nothing_broken(case: Case) -> None:
    async def go() -> None:
        async with case.running():
            members = await case.members([Member(case.folder, 0)])
            # Two processes sign at once, and a block of the chain is full every second or so.
            settings = {"integrity__interval_ms": 100}
            services = [await case.service(members.uri, name, **settings) for name in ("first", "second")]
            load = await case.load(*services, writers=1, prefilled=200, interval_sec=0.2)
            client, chat = load.client, load.chats[0]
            is_over = asyncio.Event()

            async def append() -> None:
                draw = load.world.draw("batches")
                number = 0
                while not is_over.is_set():
                    batch = [(f"batch-{number + it}", make_text(draw)) for it in range(80)]
                    number += len(batch)
                    await load.world.append(chat, batch, "append a batch")

            async def edit() -> None:
                draw = load.world.draw("edits")
                while not is_over.is_set():
                    sequence, text = draw.randrange(150), make_text(draw)
                    await client.call("edit", "PATCH", f"{chat.path}/messages/{sequence}", {"content": text})
                    chat.edit(sequence, text)

            verdicts: dict[str, int] = {}

            async def prove() -> None:
                draw = load.world.draw("proofs")
                while not is_over.is_set():
                    path = f"{chat.path}/messages/{draw.randrange(200)}/proof"
                    verdict = (await client.call("prove", "GET", path))["verdict"]
                    verdicts[verdict] = verdicts.get(verdict, 0) + 1

            broken_chats: list[float] = []

            async def watch() -> None:
                while not is_over.is_set():
                    broken_chats.extend([await read_metric(it) for it in services])
                    await asyncio.sleep(0.1)

            tasks = [asyncio.create_task(it()) for it in (append, edit, prove, prove, watch)]
            await asyncio.sleep(SECONDS)
            is_over.set()
            await asyncio.gather(*tasks)
            await load.stop()
            await verify_database(services[0])
            alarms = sum(it.log.read_text().count("changed without a service") for it in services)
            print(f"verdicts: {verdicts}; alarms in the logs: {alarms}; most broken chats in the metrics: {max(broken_chats)}")
            assert verdicts.get("signed"), verdicts
            assert (verdicts.get("broken", 0), alarms, max(broken_chats)) == (0, 0, 0)

    asyncio.run(go())


async def read_metric(service: Service) -> float:
    headers = {"authorization": f"Bearer {bearer('olga', 'operator')}"}
    async with httpx.AsyncClient(trust_env=False, verify=False, headers=headers) as client:
        text = (await client.get(f"{service.url}/metrics")).text
    found = re.search(rf"^{BROKEN_CHATS} (\S+)", text, re.MULTILINE)
    return float(found[1]) if found else 0
