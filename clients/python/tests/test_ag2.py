"""Group chats of AG2 classic that break off and are resumed are the same as those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import httpx
import pytest

# AG2 has types, and does not say so.
from autogen import (  # pyright: ignore[reportMissingTypeStubs]
    Agent,
    ConversableAgent,
    GroupChat,
    GroupChatManager,
    UserProxyAgent,
)

from reprise import Conflict, Fenced, Reprise, Unavailable
from reprise.ag2 import RecordedGroupChat, start_or_resume

from .conftest import Line, Service
from .faults import Faults, nothing, refused

QUESTION = "Where does it rain?"
CALLS = [
    {"id": f"call_{city}", "type": "function", "function": {"name": "weather", "arguments": f'{{"city": "{city}"}}'}}
    for city in ("Oslo", "Rome")
]
SPEAKERS = ["user", "planner", "user", "critic", "planner", "critic", "planner"]


class Killed(BaseException):
    """What ends a run in the middle, past everything that AG2 catches."""


class Agents:
    """The agents of a group; each answers from what it remembers, so that one who has forgotten answers wrongly."""

    def __init__(self, dies_at: int | None = None) -> None:
        #: How many messages the agent that dies has before its answer.
        self._dies_at = dies_at
        self.ran: list[str] = []
        self.user = UserProxyAgent(
            "user", human_input_mode="NEVER", code_execution_config=False, function_map={"weather": self._weather}
        )
        self.all: list[Agent] = [self.user, self._agent("planner", self._plans), self._agent("critic", self._criticises)]

    def _weather(self, city: str) -> str:
        if self._dies_at == 2:
            raise Killed
        self.ran.append(city)
        return f"{city}: rain"

    def _agent(self, name: str, answer: Callable[[list[dict[str, Any]]], Any]) -> Agent:
        def reply(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> tuple[bool, Any]:
            if len(messages) == self._dies_at:
                raise Killed
            return True, answer(messages)

        agent: Any = ConversableAgent(name, llm_config=False, human_input_mode="NEVER")
        agent.register_reply([Agent, None], reply, position=0)
        return cast("Agent", agent)

    def _plans(self, messages: list[dict[str, Any]]) -> Any:
        match len(messages):
            case 1:
                return {"role": "assistant", "content": "I look.", "tool_calls": CALLS}
            case 4:
                return f"In {messages[2]['content'].count('rain')} cities."
            case _:
                return f"After {len(messages)} messages: TERMINATE"

    def _criticises(self, messages: list[dict[str, Any]]) -> str:
        return f"Is that all? {messages[-1]['content']}"


def speaks_next(last: Agent, group: GroupChat) -> Agent:
    count = sum(message["role"] != "tool" or "tool_responses" in message for message in group.messages)
    found = group.agent_by_name(SPEAKERS[count])
    assert found is not None
    return found


def is_the_end(message: dict[str, Any]) -> bool:
    return "TERMINATE" in str(message["content"])


def run(chat: Any, agents: Agents, max_round: int = 20) -> RecordedGroupChat:
    group = RecordedGroupChat(chat, agents.all, speaker_selection_method=speaks_next, max_round=max_round)
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=is_the_end)
    start_or_resume(manager, agents.user, QUESTION)
    assert group.max_round == max_round
    return group


def stored(chat: Any) -> list[tuple[Any, ...]]:
    return [(message.role, message.name, message.content) for message in chat.messages()]


@pytest.fixture
def client(service: Service, app: str) -> Reprise:
    return Reprise(service.url, app)


def test_every_message_is_stored_with_its_calls_and_results(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    agents = Agents()
    group = run(chat, agents)
    assert [message["name"] for message in group.messages] == SPEAKERS
    assert agents.ran == ["Oslo", "Rome"]
    assert [message.name for message in chat.messages()] == SPEAKERS
    assert [message.role for message in chat.messages()] == ["user", "assistant", "tool", *["assistant"] * 4]
    history = chat.history("openai", unsettled="reject").messages
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "tool", *["assistant"] * 4]
    # A chat that has ended is not run again.
    assert run(chat, Agents(dies_at=0)).messages == []
    assert len(list(chat.messages())) == len(SPEAKERS)


@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 5, 6])
def test_a_chat_that_breaks_off_goes_on_as_if_nothing_had_happened(client: Reprise, dies_at: int) -> None:
    expected, chat = client.create_chat("Weather"), client.create_chat("Weather")
    run(expected, Agents())
    with pytest.raises(Killed):
        run(chat, Agents(dies_at))
    assert len(list(chat.messages())) == dies_at
    agents = Agents()
    group = run(chat, agents)
    found = stored(chat)
    if dies_at == 2:
        # The tools had not run, so that their call is made again.
        assert [left.sequence for left in group.left_out] == [1] and found.pop(1) == found[1]
    assert found == stored(expected)
    assert agents.ran == (["Oslo", "Rome"] if dies_at <= 2 else [])
    # It has ended, also for a process that only looks.
    assert run(chat, Agents(dies_at=0)).messages == []


@pytest.mark.parametrize("dies_at", [1, 2, 3, 4])
def test_rounds_are_counted_from_the_beginning_of_the_chat(client: Reprise, dies_at: int) -> None:
    expected, chat = client.create_chat("Weather"), client.create_chat("Weather")
    run(expected, Agents(), max_round=5)
    with pytest.raises(Killed):
        run(chat, Agents(dies_at), max_round=5)
    run(chat, Agents(), max_round=5)
    found = stored(chat)
    if dies_at == 2:
        # The call that is made again.
        found.pop(1)
    assert found == stored(expected)
    # It has ended by its rounds, and goes on with more of them.
    assert run(chat, Agents(dies_at=0), max_round=5).messages == []
    run(chat, Agents(), max_round=6)
    run(chat, Agents())
    assert [name for _, name, _ in stored(chat)][-len(SPEAKERS) + 1 :] == SPEAKERS[1:]


def test_a_call_of_the_last_round_is_not_made_again(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    run(chat, Agents(), max_round=2)
    group = run(chat, Agents(), max_round=2)
    assert [name for _, name, _ in stored(chat)] == SPEAKERS[:2]
    assert [left.sequence for left in group.left_out] == [1]
    # With more rounds it is: its results are unknown.
    run(chat, Agents(), max_round=3)
    assert [name for _, name, _ in stored(chat)] == ["user", "planner", "planner", "user"]


def test_the_rounds_of_a_manager_stay_what_they_were(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    with pytest.raises(Killed):
        run(chat, Agents(dies_at=3))
    agents = Agents(dies_at=4)
    group = RecordedGroupChat(chat, agents.all, speaker_selection_method=speaks_next, max_round=20)
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=is_the_end)
    replies = cast("Any", manager)._reply_func_list
    with pytest.raises(Killed):
        start_or_resume(manager, agents.user, QUESTION)
    assert {reply["config"].max_round for reply in replies if isinstance(reply["config"], GroupChat)} == {20}


def test_two_processes_do_not_run_a_chat_at_once(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    with pytest.raises(Killed):
        run(chat, Agents(dies_at=3))

    class Slow(Agents):
        def _criticises(self, messages: list[dict[str, Any]]) -> str:
            run(chat, Agents())
            return "Something else."

    with pytest.raises(Conflict, match="event-conflict"):
        run(chat, Slow())
    assert [message.name for message in chat.messages()] == SPEAKERS


def test_a_worker_that_lost_its_lease_stores_nothing(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    with pytest.raises(Fenced), chat.lease("worker-1") as held:
        client.request("DELETE", f"/api/chats/{chat.app_id}/{chat.chat_id}/lease/{held.fencing_token}")
        chat.lease("worker-2").acquire()
        run(held, Agents())
    assert stored(chat) == []


def test_lost_answers_store_nothing_twice(line: Line, app: str) -> None:
    chat = Reprise(line.url, app).create_chat("Weather")

    class Unlucky(Agents):
        def _plans(self, messages: list[dict[str, Any]]) -> Any:
            line.lost_answers = 2
            return super()._plans(messages)

    run(chat, Unlucky())
    assert [message.name for message in chat.messages()] == SPEAKERS


def test_a_message_that_cannot_be_stored_is_not_in_the_group(service: Service, app: str) -> None:
    faults = Faults()
    with httpx.Client(transport=faults) as http:
        chat = Reprise(service.url, app, http=http, retry_for=0).create_chat("Weather")
        agents = Agents()
        group = RecordedGroupChat(chat, agents=agents.all)
        message = {"role": "user", "content": QUESTION}
        faults.fault = refused("POST", "/messages")
        with pytest.raises(Unavailable):
            group.append(message, agents.user)
        assert group.messages == []
        faults.fault = nothing
        group.append(message, agents.user)
        assert [each["content"] for each in group.messages] == [each.content for each in chat.messages()] == [QUESTION]


def test_another_group_chat_is_refused(client: Reprise) -> None:
    agents = Agents()
    manager = GroupChatManager(GroupChat(agents.all, messages=[]), llm_config=False)
    with pytest.raises(TypeError, match="RecordedGroupChat"):
        start_or_resume(manager, agents.user, QUESTION)
