#!/usr/bin/env python3
"""An AG2 group chat that is killed twice, and continues each time as if nothing had happened.

    python ag2_resume.py --url http://127.0.0.1:8080 [--auth-token TOKEN]

Needs a running Reprise service, and no model: the agents answer from functions. The chat runs in
a process of its own, which is killed with SIGKILL while an agent is thinking; a new process knows
nothing but the id of the chat, and continues. The result is compared with a chat that was not killed.

`run_group_chat` and the agents are all that an application needs of this.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
import uuid

from autogen import Agent, ConversableAgent, GroupChat, GroupChatManager
from reprise import Chat, Reprise
from reprise.ag2 import RecordedGroupChat, start_or_resume

APP = "ag2_example"
TASK = "Write a haiku about memory."
SPEAKERS = "user planner writer critic writer critic writer critic planner".split()
DRAFTS = ["Words drift off like snow", "Snow holds every word", "Snow melts; the words stay"]
THE_END = "TERMINATE"
PATIENCE_SEC = 60


def run_group_chat(chat: Chat, pause_at: int | None) -> None:
    """Runs the group chat from its current state to its end."""
    agents = cast(pause_at)
    group = RecordedGroupChat(chat, agents, speaker_selection_method=next_speaker, max_round=100)
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=lambda message: THE_END in message["content"])
    start_or_resume(manager, group.agent_by_name("user"), TASK)
    if group.left_out:
        raise RuntimeError(f"this is not the whole conversation: {group.left_out}")
    chat.complete()


def cast(pause_at: int | None) -> list[ConversableAgent]:
    """The agents; the agent that would speak message `pause_at` waits for ever."""

    def agent(name: str, answer) -> ConversableAgent:
        def reply(recipient, messages, sender, config):
            if len(messages) == pause_at:
                signal.pause()
            return True, answer(messages)

        made = ConversableAgent(name, llm_config=False, human_input_mode="NEVER")
        made.register_reply([Agent, None], reply)
        return made

    return [agent(name, answer) for name, answer in ANSWERS.items()]


def drafts(messages: list[dict]) -> int:
    return sum(message["name"] == "writer" for message in messages)


# The answers depend on all earlier messages, so an agent that has lost its memory answers wrongly.
ANSWERS = {
    "user": lambda messages: None,
    "planner": lambda messages: (
        f"Three drafts. Writer, begin: {messages[0]['content']}"
        if len(messages) == 1
        else f"Done after {drafts(messages)} drafts. {THE_END}"
    ),
    "writer": lambda messages: DRAFTS[drafts(messages)],
    "critic": lambda messages: (
        "Approved." if drafts(messages) == len(DRAFTS) else f"Draft {drafts(messages)}: revise."
    ),
}


def next_speaker(last: Agent, group: GroupChat) -> Agent:
    """Selects the next speaker by the last speaker and the last message."""
    if last.name == "critic":
        name = "planner" if group.messages[-1]["content"] == "Approved." else "writer"
    else:
        name = {"user": "planner", "planner": "writer", "writer": "critic"}[last.name]
    return group.agent_by_name(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the service listens")
    parser.add_argument("--auth-token", help="a token, if the service asks for one")
    parser.add_argument("--chat", help=argparse.SUPPRESS)
    parser.add_argument("--pause-at", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    token = arguments.auth_token or os.environ.get("REPRISE_TOKEN")
    client = Reprise(arguments.url, APP, token=token)
    if arguments.chat:
        run_group_chat(client.ensure_chat(arguments.chat, "Haiku"), arguments.pause_at)
    else:
        play(client, arguments.url, token)


def play(client: Reprise, url: str, token: str | None) -> None:
    """Runs one chat without and one with interruptions, and compares them."""
    suffix = uuid.uuid4().hex
    # Its users join by the id of the chat.
    calm, rough = (client.ensure_chat(f"haiku_{name}_{suffix}", "Haiku", visibility="link") for name in ("calm", "rough"))

    def run(chat: Chat, *more: str) -> subprocess.Popen:
        """Starts a process that knows only the address of the service and the id of the chat."""
        command = [sys.executable, __file__, "--url", url, "--chat", chat.chat_id, *more]
        # The token goes into the environment, where other users cannot read it.
        environment = os.environ | ({"REPRISE_TOKEN": token} if token else {})
        # AG2 prints its own report; this test reads the result from the service instead.
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    finish(run(calm))
    expected = list(calm.messages())
    assert [message.name for message in expected] == SPEAKERS

    # First the critic's turn, then the writer's.
    for shown, pause_at in ((0, 3), (3, 6)):
        with run(rough, "--pause-at", str(pause_at)) as process:
            try:
                wait_for(rough, pause_at, process)
            finally:
                process.kill()  # SIGKILL: it cannot put anything in order first.
        show(rough, shown)
        print(f"      -- kill -9 {process.pid}, and a new process continues")
    finish(run(rough))
    show(rough, pause_at)

    # A writer that never received the response to its last message sends it again: nothing is added.
    last = expected[-1]
    rough.append({"event_id": last.event_id, "role": last.role, "name": last.name, "content": last.content})
    found = list(rough.messages())
    assert [message.sequence for message in found] == list(range(len(expected)))
    for field in ("event_id", "role", "name", "content"):
        assert [getattr(message, field) for message in found] == [getattr(message, field) for message in expected]
    print(f"\nkilled twice: {len(found)} messages, each once, in order, by the right speakers")


def finish(process: subprocess.Popen) -> None:
    code = process.wait(timeout=PATIENCE_SEC)
    assert code == 0, f"the group chat failed with {code}"


def wait_for(chat: Chat, count: int, process: subprocess.Popen) -> None:
    """Waits until the given number of messages is stored."""
    deadline = time.monotonic() + PATIENCE_SEC
    while len(list(chat.messages())) < count:
        assert process.poll() is None, "the group chat ended too early"
        assert time.monotonic() < deadline, "the group chat does not get on"
        time.sleep(0.05)


def show(chat: Chat, first: int) -> None:
    for message in chat.messages(after=first - 1):
        print(f"{message.sequence:>4}  {message.name:<8} {message.content}")


if __name__ == "__main__":
    main()
