#!/usr/bin/env python3
"""An AG2 group chat that is killed twice, and continues each time as if nothing had happened.

    python ag2_resume.py --url http://127.0.0.1:8080 [--auth-token TOKEN]

Needs a running Reprise service, and no model: the agents answer from functions. The chat runs in
a process of its own, which is killed with SIGKILL while an agent is thinking; a new process knows
nothing but the id of the chat, and continues. The result is compared with a chat that was not killed.

`RecordedGroupChat`, `start_or_resume` and `Chat` are all that an application needs of this.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

from autogen import Agent, ConversableAgent, GroupChat, GroupChatManager

APP = "ag2_example"
TASK = "Write a haiku about memory."
SPEAKERS = "user planner writer critic writer critic writer critic planner".split()
DRAFTS = ["Words drift off like snow", "Snow holds every word", "Snow melts; the words stay"]
THE_END = "TERMINATE"
PATIENCE_SEC = 60


class Chat:
    """One chat in the service."""

    def __init__(self, url: str, token: str | None, chat_id: str):
        self.url, self.token, self.chat_id = url, token, chat_id

    def create(self) -> None:
        try:
            # Its users join by the id of the chat.
            chat = {"chat_id": self.chat_id, "workflow_name": "Haiku", "visibility": "link"}
            self._call("POST", "", chat)
        except urllib.error.HTTPError as error:
            # An existing chat is continued.
            if error.code != 409:
                raise

    def append(self, position: int, name: str, role: str, content: str) -> None:
        # The id is derived from the message, not from the time of sending: when this process
        # or its successor sends the message again, it is stored once.
        message = {"event_id": f"turn-{position}", "name": name, "role": role, "content": content}
        stored = self._call("POST", f"/{self.chat_id}/messages", message)["messages"][0]
        # This would fail if two processes ran the same chat.
        if stored["sequence"] != position:
            raise RuntimeError(f"message {position} was stored as {stored['sequence']}")

    def history(self) -> list[dict]:
        """Reads the conversation in the format that `GroupChatManager.resume` accepts."""
        answer = self._call("GET", f"/{self.chat_id}/history?dialect=ag2")
        if answer["dropped"]:
            raise RuntimeError(f"this is not the whole conversation: {answer['dropped']}")
        return answer["messages"]

    def messages(self) -> list[dict]:
        return self._call("GET", f"/{self.chat_id}/messages")["data"]

    def complete(self) -> None:
        self._call("POST", f"/{self.chat_id}/complete")

    def _call(self, method: str, path: str, body: dict | None = None) -> dict:
        """Calls the service until it responds: every call is safe to repeat."""
        request = urllib.request.Request(f"{self.url}/api/chats/{APP}{path}", method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        deadline = time.monotonic() + PATIENCE_SEC
        while True:
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                # 503: nothing was done. 504: the outcome is unknown. Everything else is final.
                if error.code not in (503, 504) or time.monotonic() > deadline:
                    raise
                time.sleep(float(error.headers.get("Retry-After", 1)))
            except OSError:
                # No connection, or a broken one: the request or the response may be lost.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


class RecordedGroupChat(GroupChat):
    """A group chat that stores each message before any agent can answer it."""

    def __init__(self, chat: Chat, stored: int, **options):
        super().__init__(**options)
        self.chat, self.stored = chat, stored

    def append(self, message: dict, speaker: Agent) -> None:
        # Every message passes here: the first, each answer, and, when resuming, the stored ones.
        super().append(message, speaker)
        position = len(self.messages) - 1
        if position >= self.stored:
            # AG2's role depends on the receiving agent; the name is the speaker's.
            role = "user" if speaker.name == "user" else "assistant"
            self.chat.append(position, speaker.name, role, self.messages[-1]["content"])


def start_or_resume(chat: Chat, pause_at: int | None) -> None:
    """Runs the group chat from its current state to its end."""
    chat.create()
    history = chat.history()
    options = {"speaker_selection_method": next_speaker, "max_round": 100}
    group = RecordedGroupChat(chat, len(history), agents=cast(pause_at), messages=[], **options)
    is_the_end = lambda message: THE_END in message["content"]
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=is_the_end)
    if history:
        # Restores every agent's memory, then sends the last message again so that it is answered.
        speaker, message = manager.resume(history, silent=True)
        speaker.initiate_chat(manager, message=message, clear_history=False, silent=True)
    else:
        group.agent_by_name("user").initiate_chat(manager, message=TASK, silent=True)
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
    url, token = arguments.url.rstrip("/"), arguments.auth_token or os.environ.get("REPRISE_TOKEN")
    if arguments.chat:
        start_or_resume(Chat(url, token, arguments.chat), arguments.pause_at)
    else:
        play(url, token)


def play(url: str, token: str | None) -> None:
    """Runs one chat without and one with interruptions, and compares them."""
    suffix = uuid.uuid4().hex
    calm, rough = (Chat(url, token, f"haiku_{name}_{suffix}") for name in ("calm", "rough"))
    finish(run(calm))
    expected = calm.messages()
    assert [message["name"] for message in expected] == SPEAKERS

    # First the critic's turn, then the writer's.
    for shown, pause_at in ((0, 3), (3, 6)):
        with run(rough, "--pause-at", str(pause_at)) as process:
            try:
                wait_for(rough, pause_at, process)
            finally:
                process.kill()  # SIGKILL: it cannot put anything in order first.
        show(rough.messages()[shown:])
        print(f"      -- kill -9 {process.pid}, and a new process continues")
    finish(run(rough))
    show(rough.messages()[pause_at:])

    # A writer that never received the response to its last message sends it again: nothing is added.
    last = expected[-1]
    rough.append(last["sequence"], last["name"], last["role"], last["content"])
    found = rough.messages()
    assert [message["sequence"] for message in found] == list(range(len(expected)))
    assert len({message["event_id"] for message in found}) == len(expected)
    for field in ("role", "name", "content"):
        assert [message[field] for message in found] == [message[field] for message in expected]
    print(f"\nkilled twice: {len(found)} messages, each once, in order, by the right speakers")


def run(chat: Chat, *more: str) -> subprocess.Popen:
    """Starts a process that knows only the address of the service and the id of the chat."""
    command = [sys.executable, __file__, "--url", chat.url, "--chat", chat.chat_id, *more]
    # The token goes into the environment, where other users cannot read it.
    environment = os.environ | ({"REPRISE_TOKEN": chat.token} if chat.token else {})
    # AG2 prints its own report; this test reads the result from the service instead.
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def finish(process: subprocess.Popen) -> None:
    code = process.wait(timeout=PATIENCE_SEC)
    assert code == 0, f"the group chat failed with {code}"


def wait_for(chat: Chat, count: int, process: subprocess.Popen) -> None:
    """Waits until the given number of messages is stored."""
    deadline = time.monotonic() + PATIENCE_SEC
    chat.create()  # The first process creates it.
    while len(chat.messages()) < count:
        assert process.poll() is None, "the group chat ended too early"
        assert time.monotonic() < deadline, "the group chat does not get on"
        time.sleep(0.05)


def show(messages: list[dict]) -> None:
    for message in messages:
        print(f"{message['sequence']:>4}  {message['name']:<8} {message['content']}")


if __name__ == "__main__":
    main()
