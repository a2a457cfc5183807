from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from math import inf
from time import monotonic
from typing import Any

from .. import models
from .._request import Json, Request, new_id, path, with_ids, without_none
from .clock import settled, sleep
from .events import Events
from .lease import Lease
from .pages import pages
from .stream import Stream, recorded
from .transport import Transport, Unfinished
from .turn import Turn

logger = logging.getLogger(__name__)
#: How long to wait between two requests if the timeout is too short to wait in one, in seconds.
PAUSE = 1.0


class Chat:
    """A chat of an app."""

    def __init__(self, transport: Transport, app_id: str, chat_id: str, fencing_token: int | None = None) -> None:
        self.app_id, self.chat_id = app_id, chat_id
        self._transport, self._fencing_token = transport, fencing_token

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.chat_id} of {self.app_id}>"

    @property
    def fencing_token(self) -> int | None:
        """The token of the lease with which the chat writes; ``None`` without one."""
        return self._fencing_token

    @property
    def unfinished(self) -> set[Unfinished]:
        """The answers that end before the client is closed."""
        return self._transport.unfinished

    def with_token(self, fencing_token: int) -> Chat:
        """Returns the same chat, whose writes carry the token of a lease."""
        return Chat(self._transport, self.app_id, self.chat_id, fencing_token)

    def session(self) -> models.ChatSession:
        """Reads the chat itself: its status, title and times."""
        return models.ChatSession.model_validate(self.get())

    def permissions(self) -> list[str]:
        """Returns what the caller may do in the chat: ``read``, ``say``, ``run``, ``bill`` and ``manage``, or some of them."""
        permitted: list[str] = (self.get(permissions=True))["permissions"]
        return permitted

    def update(self, *, if_version: int | None = None, **fields: Any) -> models.ChatSession:
        """Changes the chat: ``title``, ``metadata``, ``visibility`` and others; ``None`` clears a field.

        :param if_version: change it only if its ``session_version`` is this; otherwise :class:`~reprise.PreconditionFailed`
        """
        request = self._request("PATCH", body=fields)
        if if_version is not None:
            request.headers["if-match"] = f'"{if_version}"'
        return models.ChatSession.model_validate(self._transport.json(request))

    # Messages

    def append(
        self, *messages: Json, dialect: str | None = None, expected_last_sequence: int | None = None
    ) -> models.AppendResponse:
        """Appends messages, all or none; those without an ``event_id`` get one.

        :param dialect: the format of the messages, such as ``openai`` or ``langchain``; otherwise they have ``role``,
            ``name`` and ``content``
        :param expected_last_sequence: append only if the chat has this many messages; otherwise :class:`~reprise.Conflict`
        """
        if dialect is None:
            body: dict[str, Any] = {"messages": with_ids(messages, "event_id", "/messages")}
            request = self._request("POST", "messages", body=body)
        else:
            request = self._request("POST", "messages", body={"messages": list(messages)})
            request.headers["idempotency-key"] = new_id()
        request.params = {"dialect": dialect, "expected_last_sequence": expected_last_sequence}
        return models.AppendResponse.model_validate(self._transport.json(request))

    def sync(self, messages: Sequence[Json], *, dialect: str, system: Any = None) -> models.AppendResponse:
        """Appends what the chat does not have yet of a whole transcript. Repeat it as often as you like."""
        request = self._request("PUT", "transcript", body=without_none({"messages": list(messages), "system": system}))
        request.params = {"dialect": dialect}
        return models.AppendResponse.model_validate(self._transport.json(request))

    def messages(self, *, after: int | None = None, page_size: int = 200) -> Iterator[models.Message]:
        """Reads the stored messages, the oldest first."""
        listed = path("api", "chats", self.app_id, self.chat_id, "messages")
        filters = {"after": after}
        for message in pages(self._transport, listed, models.Message.model_validate, page_size, filters):
            yield message

    def delete_message(self, sequence: int) -> None:
        """Replaces a message by a tombstone."""
        self._send("DELETE", "messages", str(sequence))

    def delete_messages(self, event_ids: Sequence[str]) -> None:
        """Replaces up to 100 messages by tombstones; ids that the chat does not have are left out."""
        self._send("POST", "messages", "delete", body={"event_ids": list(event_ids)})

    def history(self, dialect: str = "ag2", **options: Any) -> models.HistoryResponse:
        """Renders the transcript for a replay; ``options`` are the parameters of ``GET …/history``."""
        return models.HistoryResponse.model_validate(self.get("history", dialect=dialect, **options))

    # Running a chat

    def resume(self, **options: Any) -> models.Resume:
        """Reads everything that is needed to continue; ``action`` says what to do."""
        return models.Resume.model_validate(self.get("resume", **options))

    def lease(self, owner: str, *, ttl: float = 30.0) -> Lease:
        """Returns a context manager that holds the lease of the chat, and renews it.

        ``with chat.lease("worker-2") as held:`` gives the chat whose writes carry the token.
        """
        return Lease(self, owner, ttl)

    def turn(self, request_id: str | None = None, **fields: Any) -> Turn:
        """Returns a context manager that records a turn, and writes it at its end, whichever way it ends."""
        return Turn(self, request_id or new_id(), fields)

    # Streams

    def stream(self, upstream: Any, **fields: Any) -> Generator[Any, None, None]:
        """Yields the events of an answer, and writes them to a stream that others follow meanwhile.

        ``upstream`` yields strings, chunks of OpenAI's chat completions or of LiteLLM, events of OpenAI's Responses API or
        of Anthropic's messages, ``GenerateContentResponse`` of google-genai, ``AIMessageChunk`` of LangChain, or chunks of
        the AI SDK; anything else is a ``TypeError``. What came is stored as a turn when it ends; not if it raises. When a
        person asks to stop, it ends with the next event of the model.
        If its reader leaves, it is cancelled when the reader closes the generator, and when the client is closed at the latest.
        ``fields`` are those of ``NewStream``, such as ``agent`` and ``request_id``.
        """
        return recorded(self, upstream, fields)

    def start_stream(self, format: str, **fields: Any) -> Stream:
        """Starts an answer that others follow while it is produced: ``text``, ``ui_message`` or ``acp``.

        A call that is cancelled ends when the service has answered, and then ends the stream as cancelled.
        """
        request = self._request("POST", "streams", body={**without_none(fields), "format": format})
        request.headers["idempotency-key"] = new_id()
        started: list[models.Stream] = []
        try:
            settled(self._start_stream(request, started))
        except BaseException:
            for stream in started:
                settled(self._end_unused(stream))
            raise
        return Stream(self, started[0])

    def take_over_stream(self, stream_id: str, mode: str, attempt: int | None = None) -> Stream:
        """Goes on with a stream whose agent is gone: ``continue`` after its chunks, or ``restart``. Needs a newer lease.

        A restart with the ``attempt`` of the stream that it voids is safe to repeat.
        """
        body = without_none({"mode": mode, "attempt": attempt})
        taken = self._send("POST", "streams", stream_id, "takeover", body=body)
        return Stream(self, models.Stream.model_validate(taken))

    def streams(self) -> list[models.Stream]:
        """Reads the streams that are running, or ended within the hour, the latest first."""
        return models.Streams.model_validate(self.get("streams")).streams

    def append_chunks(self, stream_id: str, start: int, chunks: Sequence[Any]) -> models.StreamProgress:
        """Adds chunks to a stream, the first at the position ``start``."""
        body = {"from": start, "chunks": list(chunks)}
        return models.StreamProgress.model_validate(self._send("POST", "streams", stream_id, "chunks", body=body))

    def cancel_stream(self, stream_id: str) -> models.Stream:
        """Asks the agent of a stream to stop."""
        return models.Stream.model_validate(self._send("POST", "streams", stream_id, "cancel"))

    def end_stream(self, stream_id: str, state: str, **fields: Any) -> models.EndedStream:
        """Ends a stream as ``finished``, ``failed`` or ``cancelled``, and stores what it holds as a turn."""
        body = {**without_none(fields), "state": state}
        return models.EndedStream.model_validate(self._send("POST", "streams", stream_id, "end", body=body))

    def append_turn(self, turn: Json) -> models.AppendedTurn:
        """Writes a whole turn, all of it or nothing."""
        stored = self._send("POST", "turns", body={"request_id": new_id(), **without_none(turn)})
        return models.AppendedTurn.model_validate(stored)

    def record_call(self, **call: Any) -> models.RecordedCall:
        """Records a call of a model: its tokens, cost and duration."""
        return (self.record_calls([call]))[0]

    def record_calls(self, calls: Sequence[Json]) -> list[models.RecordedCall]:
        """Records calls of models, all or none."""
        recorded = self._send("POST", "calls", body={"calls": with_ids(calls, "call_id", "/calls")})
        return models.RecordCallsResponse.model_validate(recorded).calls

    def context(self) -> dict[str, Any] | None:
        """Reads the context snapshot."""
        return models.ContextResponse.model_validate(self.get("context")).context_snapshot

    def set_context(self, snapshot: Json) -> None:
        """Replaces the context snapshot."""
        self._send("PUT", "context", body=dict(snapshot))

    def merge_context(self, changes: Json) -> None:
        """Merges changes into the context snapshot (RFC 7386): ``None`` removes a field."""
        request = self._request("PATCH", "context", body=dict(changes))
        request.headers["prefer"] = "return=minimal"
        self._transport.json(request)

    # Questions

    def ask(
        self, prompt: str, *, request_id: str | None = None, wait: float | None = None, **fields: Any
    ) -> models.InputRequest:
        """Asks people a question, and waits until it is closed.

        With the same ``request_id``, another process goes on waiting for the same question after a restart.

        :param wait: how long to wait for the answer, in seconds; a question that is still open is returned as ``pending``.
            Without it, the call waits for as long as it takes.
        :param fields: those of ``NewInputRequest``, such as ``kind``, ``options`` or ``expires_in_sec``
        """
        until = None if wait is None else monotonic() + wait
        body = {"request_id": request_id or new_id(), "prompt": prompt, **without_none(fields)}
        question = models.InputRequest.model_validate(self._send("POST", "input-requests", body=body))
        while question.state == models.InputState.pending:
            rest = inf if until is None else until - monotonic()
            if rest <= 0:
                break
            # The service waits for whole seconds.
            seconds = int(min(self._transport.longest_wait, rest))
            if seconds == 0:
                sleep(min(PAUSE, rest))
            found = self.get("input-requests", question.request_id, wait=f"{seconds}s")
            question = models.InputRequest.model_validate(found)
        return question

    def answer(self, request_id: str, content: Any, **fields: Any) -> models.AnsweredInput:
        """Answers a question."""
        body = {"content": content, "event_id": new_id(), **without_none(fields)}
        answered = self._send("POST", "input-requests", request_id, "answer", body=body)
        return models.AnsweredInput.model_validate(answered)

    # Listening

    def events(self, after: int | str | None = None) -> Events:
        """Returns an iterator of what happens in the chat: each stored message once and in order, then what follows.

        It reconnects by itself, and goes on where it was.
        """
        return Events(self._transport, path("api", "chats", self.app_id, self.chat_id, "events"), after)

    # The end

    def complete(self) -> models.ChatSession:
        """Ends the chat as completed."""
        return self._change_status("complete", {})

    def pause(self, reason: str | None = None) -> models.ChatSession:
        """Pauses the chat."""
        return self._change_status("pause", {"reason": reason})

    def fail(self, reason: str | None = None) -> models.ChatSession:
        """Ends the chat as failed."""
        return self._change_status("fail", {"reason": reason})

    def reopen(self) -> models.ChatSession:
        """Sets the chat to running again."""
        return self._change_status("reopen", {})

    def delete(self, *, purge: bool = False) -> None:
        """Deletes the chat; with ``purge``, what was said in it is removed for good."""
        request = self._request("DELETE")
        request.params = {"purge": purge or None}
        self._transport.json(request)

    def _start_stream(self, request: Request, started: list[models.Stream]) -> int:
        """Starts a stream, for a caller that may be cancelled and then gets no result; returns how many were started."""
        started.append(models.Stream.model_validate(self._transport.json(request)))
        return len(started)

    def _end_unused(self, stream: models.Stream) -> bool:
        """Ends a stream whose start was cancelled; returns whether it has ended."""
        try:
            self.end_stream(stream.stream_id, "cancelled")
            return True
        except Exception:
            # The cancellation counts.
            logger.exception("the stream %s was not ended", stream.stream_id)
            return False

    def _change_status(self, verb: str, body: Json) -> models.ChatSession:
        return models.ChatSession.model_validate(self._send("POST", verb, body=without_none(body)))

    def _send(self, method: str, *parts: str, body: Any = None) -> Any:
        return self._transport.json(self._request(method, *parts, body=body))

    def get(self, *parts: str, **params: Any) -> Any:
        """Reads what is below the chat, such as ``get("messages", newest=5)``, and returns its JSON."""
        request = self._request("GET", *parts)
        request.params = params
        return self._transport.json(request)

    def _request(self, method: str, *parts: str, body: Any = None) -> Request:
        request = Request(method, path("api", "chats", self.app_id, self.chat_id, *parts), body=body)
        if self._fencing_token is not None and request.is_write:
            request.headers["fencing-token"] = str(self._fencing_token)
        return request
