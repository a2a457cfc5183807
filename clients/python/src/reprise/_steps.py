"""The steps of a turn, while they run."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

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

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            if self.fields["status"] == "running":
                self.finish()
        else:
            self.fields["status"] = outcome_of(error)
            self.fields["error"] = described(error)


def outcome_of(error: BaseException) -> str:
    """Returns how a turn or a step ended that raised this."""
    return "failed" if isinstance(error, Exception) else "interrupted"


def described(error: BaseException) -> str:
    """Returns one line about an exception."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()[:1_000]
