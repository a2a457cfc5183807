"""Sessions of Google's ADK, judged by its own service in memory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from pydantic import BaseModel

from reprise import AsyncReprise, InvalidValue, OutcomeUnknown, Unavailable
from reprise.stores.adk import RepriseSessionService

from .conftest import Line, Service
from .faults import AsyncFaults, nothing, refused
from .page import run_example

HERE: dict[str, Any] = {"app_name": "picnic", "user_id": "ada", "session_id": "lake"}


def event(text: str = "hello", delta: dict[str, Any] | None = None, **fields: Any) -> Event:
    call = types.FunctionCall(name="look", args={"at": None}, id="1")
    parts = [types.Part(text=text), types.Part(function_call=call), types.Part.from_bytes(data=b"\xff", mime_type="image/png")]
    content = types.Content(role="user", parts=parts)
    return Event(author="user", content=content, actions=EventActions(state_delta=delta or {}), **fields)


def plain(session: Session | None) -> Any:
    """Returns what two services must agree on: all but the time of the creation, which is their own."""
    if session is None:
        return None
    updated = session.last_update_time if session.events else None
    return session.app_name, session.user_id, session.id, session.state, session.events, updated


async def made(service: RepriseSessionService, **state: Any) -> Session:
    return await service.create_session(**HERE, state=state)


async def found(service: BaseSessionService) -> Session:
    session = await service.get_session(**HERE)
    assert session is not None
    return session


class Pair:
    """Calls the service and the one in memory, and compares what they answer."""

    def __init__(self, ours: RepriseSessionService) -> None:
        self.services: list[BaseSessionService] = [ours, InMemorySessionService()]

    async def call(self, name: str, **arguments: Any) -> Any:
        outcomes = [await outcome(getattr(service, name)(**arguments)) for service in self.services]
        assert outcomes[0] == outcomes[1], (name, arguments)
        return outcomes[0]

    async def append(self, where: dict[str, Any], new: Event) -> None:
        results: list[Any] = []
        for service in self.services:
            session = await service.get_session(**where)
            if session is None:
                session = Session(app_name=where["app_name"], user_id=where["user_id"], id=where["session_id"])
            results.append((await outcome(service.append_event(session, new.model_copy(deep=True))), plain(session)))
        assert results[0] == results[1], (where, new)


async def outcome(call: Any) -> Any:
    try:
        result = await call
    except (AlreadyExistsError, SessionNotFoundError) as error:
        return type(error)
    if isinstance(result, Session):
        return plain(result)
    if hasattr(result, "sessions"):
        return sorted([session.id, session.user_id, session.state, session.events] for session in result.sessions)
    return result


@pytest.mark.parametrize("seed", range(4))
async def test_every_operation_answers_as_the_one_in_memory(service: Service, app: str, seed: int) -> None:
    chance = random.Random(seed)
    async with AsyncReprise(service.url, app) as client:
        pair = Pair(RepriseSessionService(client))
        events: list[Event] = []
        for number in range(120):
            where: dict[str, Any] = {"app_name": chance.choice(["picnic", "a/b"]), "user_id": chance.choice(["ada", "."])}
            session = {**where, "session_id": chance.choice(["lake", " park ", "s/1"])}
            keys = ["plain", "user:name", "app:name", "temp:x", "user:", "n"]
            delta = {chance.choice(keys): chance.choice([number, None, {"a": [None, "ü"]}]) for _ in range(chance.randrange(4))}
            match chance.randrange(8):
                case 0:
                    await pair.call("create_session", **session, state=delta)
                case 1:
                    await pair.call("delete_session", **session)
                case 2:
                    config = GetSessionConfig(
                        num_recent_events=chance.choice([None, 0, 1, 2, 50]),
                        after_timestamp=chance.choice([None, 0, *(each.timestamp for each in events[-3:])]),
                    )
                    await pair.call("get_session", **session, config=config)
                case 3:
                    await pair.call("list_sessions", **{**where, "user_id": chance.choice([where["user_id"], None])})
                case 4:
                    await pair.call("get_user_state", **where)
                case 5 if events:
                    session["session_id"] = session["session_id"].strip()
                    await pair.append(session, chance.choice(events))
                case _:
                    session["session_id"] = session["session_id"].strip()
                    events.append(event(str(number), delta, partial=chance.choice([None, None, None, True])))
                    await pair.append(session, events[-1])


async def test_a_session_that_was_changed_is_stale(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        ours, other = RepriseSessionService(client), RepriseSessionService(client)
        first = await made(ours)
        second = await found(other)
        await other.append_event(second, event("one", {"app:x": 1}))
        with pytest.raises(StaleSessionError):
            await ours.append_event(first, event("two", {"app:x": 2}))
        by_hand = Session(app_name="picnic", user_id="ada", id="lake", last_update_time=1)
        with pytest.raises(StaleSessionError):
            await ours.append_event(by_hand, event("three"))
        again = await found(ours)
        await ours.append_event(again, event("four"))
        assert [each.content.parts[0].text for each in (await found(other)).events if each.content and each.content.parts] == [
            "one",
            "four",
        ]
        assert (await found(ours)).state == {"app:x": 1}


async def test_appends_with_one_session_follow_each_other(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        ours = RepriseSessionService(client)
        session = await made(ours)
        await asyncio.gather(*(ours.append_event(session, event(str(number))) for number in range(10)))
        assert [each.id for each in (await found(ours)).events] == [each.id for each in session.events]
        assert len(session.events) == 10


async def test_shared_state_of_several_sessions_is_not_lost(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:

        async def work(number: int) -> None:
            ours = RepriseSessionService(client)
            session = await ours.create_session(app_name="picnic", user_id="ada", session_id=str(number))
            for count in range(5):
                await ours.append_event(
                    session, event("x", {f"user:{number}-{count}": 1, f"app:{number}-{count}": 1, "n": count})
                )

        await asyncio.gather(*map(work, range(5)))
        ours = RepriseSessionService(client)
        assert len(await ours.get_user_state(app_name="picnic", user_id="ada")) == 25
        for _ in range(2):
            listed = (await ours.list_sessions(app_name="picnic")).sessions
            assert [(len(session.state), session.state["n"]) for session in listed] == [(51, 4)] * 5


async def test_an_event_whose_append_is_cancelled_sets_the_shared_state(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        ours = RepriseSessionService(client)
        session = await made(ours)
        for number in range(20):
            task = asyncio.create_task(ours.append_event(session, event(delta={f"user:{number}": number})))
            await asyncio.sleep(number / 2_000)
            task.cancel()
            await asyncio.wait([task])
        stored = await found(RepriseSessionService(client))
        said = {key: value for each in stored.events for key, value in each.actions.state_delta.items()}
        assert said
        assert {key: stored.state[key] for key in said} == said


async def test_an_event_whose_answer_is_lost_is_stored_once(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app) as client:
        ours = RepriseSessionService(client)
        session = await made(ours)
        for number in range(4):
            line.lost_answers = number % 3
            await ours.append_event(session, event(str(number), {"count": number}))
        again = session.events[-1].model_copy(deep=True)
        assert await RepriseSessionService(client).append_event(session, again) == again
        stored = await found(ours)
        assert (len(stored.events), stored.state) == (4, {"count": 3})


async def test_an_event_that_is_appended_again_after_an_error_sets_the_shared_state(service: Service, app: str) -> None:
    faults = AsyncFaults()
    async with httpx.AsyncClient(transport=faults) as http, AsyncReprise(service.url, app, http=http, retry_for=0) as client:
        ours = RepriseSessionService(client)
        session = await made(ours)
        new = event("one", {"app:x": 1, "user:y": 2, "z": 3, "temp:t": 4})
        for path in ("/picnic/state", "/picnic/user-states/"):
            faults.fault = refused("PUT", path)
            with pytest.raises(Unavailable):
                await ours.append_event(session, new)
            # What is stored is in memory, too.
            assert [each.id for each in session.events] == [new.id]
        faults.fault = nothing
        assert await ours.append_event(session, new) == new
        stored = await found(ours)
        assert stored.state == {"app:x": 1, "user:y": 2, "z": 3}
        assert [each.id for each in stored.events] == [each.id for each in session.events] == [new.id]
        assert session.state == {**stored.state, "temp:t": 4}
        await ours.append_event(session, event("two", {"app:x": 5}))
        # An event whose values are set does not set them again.
        await ours.append_event(session, new)
        assert (await found(ours)).state == {"app:x": 5, "user:y": 2, "z": 3}
        assert len(session.events) == 2


async def test_an_event_whose_outcome_is_unknown_is_appended_again(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app) as client, AsyncReprise(line.url, app, retry_for=0) as impatient:
        ours = RepriseSessionService(impatient)
        session = await made(ours)
        new = event("one", {"app:x": 1})
        line.lost_answers = 1
        with pytest.raises(OutcomeUnknown):
            await ours.append_event(session, new)
        # Another one reads the session, and goes on with it.
        other = RepriseSessionService(client)
        await other.append_event(await found(other), event("two", {"z": 2}))
        await found(ours)
        await ours.append_event(session, new)
        assert [each.id for each in session.events] == [new.id]
        assert (await found(ours)).state == {"app:x": 1, "z": 2}
        with pytest.raises(StaleSessionError):
            await ours.append_event(session, event("three"))


async def test_a_creation_that_an_error_has_broken_off_is_repeated(service: Service, app: str) -> None:
    faults = AsyncFaults()
    state = {"app:x": 1, "user:y": 2, "z": 3}
    async with httpx.AsyncClient(transport=faults) as http, AsyncReprise(service.url, app, http=http, retry_for=0) as client:
        ours = RepriseSessionService(client)
        faults.fault = refused("PUT", "/picnic/user-states/")
        with pytest.raises(Unavailable):
            await made(ours, **state)
        faults.fault = nothing
        with pytest.raises(AlreadyExistsError):
            await made(RepriseSessionService(client), **state)
        assert (await made(ours, **state)).state == state
        with pytest.raises(AlreadyExistsError):
            await made(ours, **state)


async def test_a_session_made_again_is_listed_as_it_is(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        ours, other = RepriseSessionService(client), RepriseSessionService(client)
        for number in range(3):
            await made(ours, number=number)
            (listed,) = (await other.list_sessions(app_name="picnic")).sessions
            assert listed.state == {"number": number}
            await client.documents.delete("adk-sessions/picnic/sessions/ada/lake")
        assert (await other.list_sessions(app_name="picnic")).sessions == []


class Echo(BaseAgent):
    """Answers with how often it was asked."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        count = ctx.session.state.get("user:count", 0) + 1
        content = types.Content(role="model", parts=[types.Part(text=f"{count} times")])
        delta = {"user:count": count, "temp:now": 1}
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content, actions=EventActions(state_delta=delta))


async def test_an_agent_runs_in_one_process_after_the_other(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        await made(RepriseSessionService(client))
        for _ in range(3):
            runner = Runner(app_name="picnic", agent=Echo(name="echo"), session_service=RepriseSessionService(client))
            message = types.Content(role="user", parts=[types.Part(text="hello")])
            async for _ in runner.run_async(user_id="ada", session_id="lake", new_message=message):
                pass
        stored = await found(RepriseSessionService(client))
        assert stored.state == {"user:count": 3}
        assert len(stored.events) == 6


async def test_the_example_of_the_page_runs(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        await made(RepriseSessionService(client))
        await run_example("reprise.stores.adk", service, app, agent=Echo(name="echo"))
        assert len((await found(RepriseSessionService(client))).events) == 2


async def test_text_that_utf_8_does_not_have_is_refused_and_nothing_is_stored(service: Service, app: str) -> None:
    half = "a\ud83d"
    async with AsyncReprise(service.url, app) as client:
        sessions = RepriseSessionService(client)
        for state in ({"user:place": half}, {"place": [half]}, {half: 1}):
            with pytest.raises(InvalidValue, match="replace it"):
                await sessions.create_session(**HERE, state=state)
        assert [document async for document in client.documents.list()] == []
        session = await made(sessions)
        for new in (event(half), event(delta={"place": half}), event(delta={"app:place": {half: 1}})):
            with pytest.raises(InvalidValue, match="replace it"):
                await sessions.append_event(session, new)
        await sessions.append_event(session, event("Hello 👍"))
        assert len((await found(sessions)).events) == 1
        assert len((await sessions.list_sessions(app_name="picnic")).sessions) == 1


class Depth(BaseModel):
    """A value of state that is a model."""

    meters: float = float("inf")
    where: str | None = None


async def test_state_has_one_stored_form_whatever_sets_it(service: Service, app: str) -> None:
    values = [b"abc", b"\xff\xfb", {"a": [b"\xff"], b"abc": 1}, datetime(2026, 1, 2), timedelta(hours=1), float("nan"), Depth()]
    given = {f"{tier}{number}": value for tier in ("", "user:", "app:") for number, value in enumerate(values)}
    async with AsyncReprise(service.url, app) as client:
        sessions = RepriseSessionService(client)
        created = (await made(sessions, **given)).state
        await sessions.append_event(await found(sessions), event(delta=given))
        assert (await found(sessions)).state == created
        assert [created["0"], created["app:1"]] == ["YWJj", "__s="]
