"""The steps of a turn, while they run."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

from ._chunks.surrogates import whole
from ._request import Json


class Step:
    """A step of a turn. One that is still open when the turn breaks off is a point from which it is resumed."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def finish(self, output: Json | None = None) -> None:
        """Ends the step."""
        self.fields["status"] = "completed"
        if output is not None:
            self.fields["output"] = dict(output)

    def fail(self, error: BaseException) -> None:
        """Ends the step with an error: failed, or interrupted from outside."""
        self.fields.update(status=outcome_of(error), error=described(error))

    @property
    def is_completed(self) -> bool:
        """Whether the step ended without an error."""
        return bool(self.fields["status"] == "completed")

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            if self.fields["status"] == "running":
                self.finish()
        else:
            self.fail(error)


def outcome_of(error: BaseException) -> str:
    """Returns how a turn or a step ended that raised this."""
    return "failed" if isinstance(error, Exception) else "interrupted"


def described(error: BaseException) -> str:
    """Returns one line about an exception."""
    return shortened("".join(traceback.format_exception_only(type(error), error)).strip())


def shortened(error: str) -> str:
    """Returns the beginning of a text about an error, with U+FFFD for each half of a surrogate pair."""
    return whole(error)[:1_000]
