"""The client that waits for each answer; the one for asyncio is made of the same lines."""

from __future__ import annotations

import os
import pickle
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from typing import Any

import httpx
import pytest

from reprise import (
    Busy,
    Conflict,
    Fenced,
    InvalidRequest,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    Reprise,
    RepriseError,
    Unavailable,
    errors,
    models,
)
from reprise._events import LineBreaks

from .conftest import Line, Service
from .faults import Faults, nothing

HELLO = {"role": "user", "name": "user", "content": "Hello"}


@pytest.fixture
def client(service: Service, app: str) -> Reprise:
    return Reprise(service.url, app)


def test_a_chat_is_written_and_read(client: Reprise) -> None:
    chat = client.create_chat("Picnic", title="By the lake")
    assert chat.session().title == "By the lake"
    assert chat.permissions() == ["create", "read", "say", "run", "bill", "manage"]
    stored = chat.append(HELLO, {"role": "assistant", "name": "planner", "content": "Where to?"})
    assert [message.sequence for message in stored.messages] == [0, 1]
    assert [message.content for message in chat.messages(page_size=1)] == ["Hello", "Where to?"]
    assert [message["role"] for message in chat.history("openai").messages] == ["user", "assistant"]
    chat.set_context({"place": "lake", "food": "cake"})
    chat.merge_context({"food": None})
    assert chat.context() == {"place": "lake"}
    assert [listed.chat_id for listed in client.chats(page_size=1)] == [chat.chat_id]
    assert chat.complete().status == models.ChatStatus.completed


def test_messages_of_another_format_are_appended_and_synchronised(client: Reprise) -> None:
    chat = client.create_chat("Weather")
    asked: dict[str, Any] = {"role": "user", "content": "Where does it rain?"}
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    answered = {"role": "tool", "tool_call_id": "1", "content": "In Oslo"}
    for length in (1, 3, 3):
        transcript = [asked, called, answered][:length]
        assert chat.sync(transcript, dialect="openai").last_sequence == length
    assert chat.history("openai").messages == [asked, called, answered]
    chat.append(asked, dialect="openai")
    chat.append(asked, dialect="openai")
    assert len(list(chat.messages())) == 5


def test_refusals_are_exceptions_that_say_what_is_wrong(client: Reprise) -> None:
    with pytest.raises(NotFound) as missing:
        client.chat("no_such_chat").session()
    assert missing.value.code == "chat-not-found"
    chat = client.create_chat("Picnic")
    with pytest.raises(InvalidRequest, match="/messages/0/role"):
        chat.append({"content": "nobody says this"})
    chat.append({**HELLO, "event_id": "evt-1"})
    with pytest.raises(Conflict) as conflict:
        chat.append({**HELLO, "event_id": "evt-1", "content": "Goodbye"})
    assert conflict.value.code == "event-conflict"


def test_a_write_whose_answer_is_lost_is_stored_once(line: Line, app: str) -> None:
    client = Reprise(line.url, app)
    line.lost_answers = 1
    chat = client.create_chat("Picnic")
    for number in range(5):
        line.lost_answers = number % 3
        chat.append({**HELLO, "content": str(number)})
    line.lost_answers = 2
    chat.append({**HELLO, "content": "5"}, dialect="ag2")
    assert [message.content for message in chat.messages()] == [str(number) for number in range(6)]
    assert len(list(client.chats())) == 1


def test_an_outcome_that_stays_unknown_is_said(line: Line, app: str) -> None:
    chat = Reprise(line.url, app).create_chat("Picnic")
    impatient = Reprise(line.url, app, retry_for=0.5).chat(chat.chat_id)
    line.lost_answers = 1_000
    with pytest.raises(OutcomeUnknown):
        impatient.append({**HELLO, "event_id": "evt-1"})
    with pytest.raises(Unavailable):
        impatient.session()
    line.lost_answers = 0
    assert chat.append({**HELLO, "event_id": "evt-1"}).messages[0].sequence == 0
    absent = Reprise("http://127.0.0.1:9", app, retry_for=0.2)
    with pytest.raises(Unavailable):
        absent.create_chat("Picnic")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "localhost:8080",
        "ftp://127.0.0.1",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://a b",
        "http://a?b=c",
    ],
)
def test_a_base_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="is no base URL"):
        Reprise(url, "acme_corp")


def test_ids_and_words_that_utf_8_does_not_have_are_refused(client: Reprise) -> None:
    for call in (lambda: client.chat("\ud83d").session(), lambda: list(client.search("a\ud83d"))):
        with pytest.raises(InvalidValue, match="replace it"):
            call()


def test_a_path_has_no_steps_to_other_records(client: Reprise) -> None:
    for chat_id in (".", ".."):
        for call in (lambda: client.chat(chat_id).delete(), lambda: client.ensure_chat(chat_id, "Picnic")):  # noqa: B023
            with pytest.raises(ValueError, match="which no path can have"):
                call()


def test_events_arrive_once_and_in_order_however_often_the_connection_breaks(line: Line, app: str) -> None:
    chat = Reprise(line.url, app).create_chat("Picnic")
    chat.append(*({**HELLO, "content": str(number)} for number in range(50)))
    said: list[object] = []

    def listen() -> None:
        for event in chat.events():
            if event.name == "message":
                said.append(event.data["content"])
                if len(said) == 100:
                    return

    listening = threading.Thread(target=listen, daemon=True)
    line.broken_after = 4_000
    listening.start()
    for number in range(50, 100):
        line.broken_after = 4_000 if number < 80 else None
        if number % 10 == 0:
            line.hang_up()
        chat.append({**HELLO, "content": str(number)})
    listening.join(30)
    assert said == [str(number) for number in range(100)]


def test_events_hold_every_character_that_ends_a_line_elsewhere(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    texts = [f"a{end}b" for end in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\n", "\r\n")]
    chat.append(*({**HELLO, "content": text} for text in texts))
    messages = (event.data["content"] for event in chat.events() if event.name == "message")
    assert [next(messages) for _ in texts] == texts


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_the_same_however_their_text_arrives(size: int) -> None:
    text = "a\nb\r\n\r\nc\rd\u2028e\n\nrest"
    breaks = LineBreaks()
    lines = [line for at in range(0, len(text), size) for line in breaks.add(text[at : at + size])]
    assert lines == ["a", "b", "", "c", "d\u2028e", ""]


def test_events_are_asked_for_again_when_the_service_says_so() -> None:
    asked: list[float] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(time.monotonic())
            if len(asked) == 1:
                self.send_response(503)
                self.send_header("retry-after", "1")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"event: caught-up\ndata: {}\n\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chat = Reprise(f"http://127.0.0.1:{server.server_port}", "acme_corp").chat("chat_1")
        assert next(iter(chat.events())).name == "caught-up"
        server.shutdown()
    # Without the header, it would have waited for at most 0.2 s.
    assert asked[1] - asked[0] >= 1


def test_a_lease_is_renewed_and_its_loss_ends_the_block(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with chat.lease("worker-1", ttl=0.6) as held:
        with pytest.raises(Busy) as busy:
            chat.lease("worker-2").acquire()
        assert busy.value.problem["holder"]["owner"] == "worker-1"
        time.sleep(1.5)
        held.append(HELLO)
    with pytest.raises(Fenced):
        with chat.lease("worker-1", ttl=0.6) as held:
            client.request("DELETE", f"/api/chats/{chat.app_id}/{chat.chat_id}/lease/{held.fencing_token}")
            chat.lease("worker-2").acquire()
            held.append(HELLO)
    assert len(list(chat.messages())) == 1


def test_a_turn_is_written_at_its_end_whichever_way_it_ends(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with chat.turn() as turn:
        turn.say("user", "Hello", name="user")
        with turn.step("llm", assistant_id="planner"):
            turn.say("assistant", "Where to?", name="planner")
    assert chat.resume().action == models.Action.nothing_to_do
    with pytest.raises(ZeroDivisionError):
        with chat.turn("req-2") as turn:
            turn.say("user", "Divide.", name="user")
            with turn.step("tool", assistant_id="planner", input={"by": 0}):
                raise ZeroDivisionError
    plan = chat.resume()
    assert plan.action == models.Action.retry
    assert plan.step is not None and plan.step.type == models.StepType.tool
    with pytest.raises(KeyboardInterrupt):
        with chat.turn("req-3") as turn:
            turn.step("llm", assistant_id="planner")
            raise KeyboardInterrupt
    assert chat.resume().action == models.Action.continue_


def test_a_turn_that_fails_before_it_says_anything_is_written_with_one_failed_step(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with pytest.raises(ValueError, match="model down"), chat.turn("req-1") as turn:
        with turn.step("input"):
            pass
        raise ValueError("model down")
    assert turn.stored is not None and (turn.stored.last_sequence, turn.stored.resume_points) == (0, 1)
    plan = chat.resume()
    assert plan.action == models.Action.retry
    assert plan.step is not None
    assert (plan.step.type, plan.step.error) == (models.StepType.llm, "ValueError: model down")
    with pytest.raises(KeyboardInterrupt), chat.turn("req-2"):
        raise KeyboardInterrupt
    last_turn = chat.session().last_turn
    assert last_turn is not None and (last_turn.request_id, last_turn.outcome) == ("req-2", models.TurnOutcome.interrupted)


def test_a_turn_with_nothing_to_store_is_not_written(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with chat.turn() as turn:
        pass
    assert turn.stored is None
    with chat.turn() as turn:
        with turn.step("llm"):
            pass
        turn.step("tool")
    assert turn.stored is None
    assert chat.session().last_turn is None


def test_what_a_block_raises_goes_on_although_its_turn_is_not_written(client: Reprise) -> None:
    absent = Reprise("http://127.0.0.1:9", client.app_id, retry_for=0.2).chat("chat_1")
    with pytest.raises(KeyboardInterrupt):
        with absent.turn("req-1"):
            raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError):
        with client.create_chat("Picnic").turn() as turn:
            turn.say("user", float("nan"))
            raise ZeroDivisionError
    with pytest.raises(Unavailable):
        with absent.turn() as turn:
            turn.say("user", "Hello")


def test_a_question_waits_for_its_answer_and_survives_its_asker(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    asked = chat.ask("Which lake?", request_id="ask-1", wait=0)
    assert asked.state == models.InputState.pending
    assert [question.request_id for question in client.pending_questions()] == ["ask-1"]
    answer = threading.Timer(0.3, lambda: chat.answer("ask-1", "The big one"))
    answer.start()
    question = chat.ask("Which lake?", request_id="ask-1")
    assert question.answer is not None and question.answer.content == "The big one"


def test_every_exception_is_the_same_after_it_was_pickled() -> None:
    problem = {"code": "chat-not-found", "detail": "gone", "errors": [{"pointer": "/a", "detail": "b"}]}
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, RepriseError)]
    found = [kind("gone", status=404, problem=problem) for kind in kinds if kind is not InvalidValue]
    for error in [*found, InvalidValue("/a", "b"), NotFound("gone")]:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), again.status, again.problem) == (str(error), error.status, error.problem)


def test_a_forked_process_has_its_own_connections(line: Line, app: str) -> None:
    with Reprise(line.url, app) as client:
        client.create_chat("Picnic")
        connections = line.accepted
        child = os.fork()
        if child == 0:
            try:
                client.create_chat("Picnic")
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        client.create_chat("Picnic")
        assert line.accepted == connections + 1


def test_a_restart_of_the_service_is_not_seen(service: Service, app: str) -> None:
    chat = Reprise(service.url, app, retry_for=60).create_chat("Picnic")
    restart = threading.Thread(target=service.restart)
    events = iter(chat.events())
    chat.append({**HELLO, "content": "before"})
    next(events)
    restart.start()
    time.sleep(0.2)
    chat.append({**HELLO, "content": "after"})
    restart.join()
    said = [event.data["content"] for event in islice((it for it in events if it.name == "message"), 1)]
    assert said == ["after"]


def test_an_answer_that_cannot_be_decoded_is_asked_for_again(service: Service, app: str) -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        faults.fault = nothing
        return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"no gzip"))

    faults = Faults()
    with httpx.Client(transport=faults) as http:
        chat = Reprise(service.url, app, http=http).create_chat("Picnic")
        faults.fault = broken
        chat.append({**HELLO, "event_id": "evt-1"})
        faults.fault = broken
        assert len(list(chat.messages())) == 1
        faults.fault = broken
        with pytest.raises(OutcomeUnknown):
            Reprise(service.url, app, http=http, retry_for=0).chat(chat.chat_id).append({**HELLO, "event_id": "evt-1"})


@pytest.mark.parametrize("name", ["limit", "cursor"])
def test_what_a_list_sets_itself_is_refused(client: Reprise, name: str) -> None:
    for calls in (client.chats, client.documents.list, client.documents.list_values):
        with pytest.raises(TypeError, match=f"^{name}: .* page_size"):
            list(calls(**{name: 2}))  # type: ignore[arg-type]
