from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import models
from .._steps import Step, outcome_of
from .clock import settled

if TYPE_CHECKING:
    from .chat import AsyncChat

logger = logging.getLogger(__name__)


class AsyncTurn:
    """Records a turn while its block runs, and writes it once, at the end.

    A block that ends normally writes a completed turn, one that raises a failed one, and one that is cancelled or
    interrupted from outside an interrupted one, with the steps that were open. If the turn cannot be written, a block that
    raises keeps its own error.

    A turn has a message or a step that was not completed. A block that raises before it has either gets one step of the type
    ``llm`` with its error, from which the turn can be resumed. A block that ends normally without a message writes nothing: the
    service does not keep completed steps.
    """

    def __init__(self, chat: AsyncChat, request_id: str, fields: dict[str, Any]) -> None:
        self.request_id = request_id
        self._chat, self._fields = chat, fields
        self._messages: list[dict[str, Any]] = []
        self._steps: list[Step] = []
        #: What the service stored; ``None`` before the end, and if nothing was written.
        self.stored: models.AppendedTurn | None = None

    def say(self, role: str, content: Any, *, name: str | None = None, **fields: Any) -> None:
        """Adds a message to the turn."""
        message = {"role": role, "name": name, "content": content, **fields}
        self._messages.append({key: value for key, value in message.items() if value is not None or key == "content"})

    def step(self, type: str, *, assistant_id: str | None = None, **fields: Any) -> Step:
        """Begins a step: ``input``, ``llm``, ``tool``, ``delegate`` and others. Use it as a context manager, or finish it.

        Steps belong to one call, unless they name its ``stack_id`` and the ``stack_parent_id`` of the call that made it.
        """
        call = {"stack_id": self.request_id, "assistant_id": assistant_id}
        given = {"type": type, "status": "running", **call, **fields}
        step = Step({key: value for key, value in given.items() if value is not None})
        self._steps.append(step)
        return step

    async def __aenter__(self) -> AsyncTurn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._messages:
            return
        if error is not None and not self._messages and all(step.is_completed for step in self._steps):
            self.step("llm").fail(error)
        outcome = "completed" if error is None else outcome_of(error)
        try:
            # The task may be cancelled while it writes; the turn is written nevertheless.
            self.stored = await settled(self._write(outcome))
        except Exception:
            if error is None:
                raise
            # What the block raised counts.
            logger.exception("the turn %s was not stored", self.request_id)

    async def _write(self, outcome: str) -> models.AppendedTurn:
        steps = [step.fields for step in self._steps]
        turn = {"request_id": self.request_id, "outcome": outcome, "messages": self._messages, "steps": steps}
        return await self._chat.append_turn({**self._fields, **turn})
