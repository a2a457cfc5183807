"""What may go wrong. Every error of the service has its problem document in :attr:`RepriseError.problem`."""

from __future__ import annotations

from typing import Any


class RepriseError(Exception):
    """The service refused a request, or could not be reached."""

    def __init__(self, detail: str, *, status: int | None = None, problem: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        #: The status of the response; ``None`` if there was none.
        self.status = status
        #: The problem document (RFC 9457); empty if there was none.
        self.problem: dict[str, Any] = problem or {}

    @property
    def code(self) -> str | None:
        """The stable name of the problem, such as ``chat-not-found``; ``None`` if the service was not reached."""
        code = self.problem.get("code")
        return code if isinstance(code, str) else None


class InvalidRequest(RepriseError):
    """The request breaks a rule, and changed nothing. ``problem["errors"]`` names the fields."""


class InvalidValue(InvalidRequest, ValueError):
    """A value is none that JSON has, such as infinity, half of a surrogate pair, or a key that is no text. Nothing was sent.

    ``problem["errors"]`` names the field, by its pointer in the body of the request, or the parameter.
    """

    def __init__(self, pointer: str, detail: str) -> None:
        errors = [{"pointer": pointer, "detail": detail}]
        super().__init__(f"{pointer or 'the body'}: {detail}", problem={"errors": errors})

    def __reduce__(self) -> tuple[Any, ...]:
        (error,) = self.problem["errors"]
        return type(self), (error["pointer"], error["detail"]), self.__dict__


class Denied(RepriseError):
    """The token is missing or not valid, or does not permit this."""


class NotFound(RepriseError):
    """There is no such record, or the caller may not see it."""


class Conflict(RepriseError):
    """The request does not fit to what is stored, such as another message under the same ``event_id``."""


class Busy(Conflict):
    """Another worker holds the lease; ``problem["holder"]`` says which."""


class Fenced(Conflict):
    """The lease of the caller is over: another worker may have continued the chat. Stop working on it."""


class PreconditionFailed(RepriseError):
    """The record was changed since it was read."""


class Unavailable(RepriseError):
    """The service could not answer for as long as the client tried. Nothing was changed."""


class OutcomeUnknown(RepriseError):
    """The service did not confirm a write for as long as the client tried. It may be stored.

    Repeat the call with the same ids to find out: what is stored already is not stored again. Writes of documents have no ids
    that a caller can pass: read the document to find out.
    """


_BY_STATUS: dict[int, type[RepriseError]] = {
    400: InvalidRequest,
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: InvalidRequest,
    422: InvalidRequest,
    503: Unavailable,
    504: OutcomeUnknown,
}
_BY_CODE: dict[str, type[RepriseError]] = {"busy": Busy, "fenced": Fenced}


def from_problem(status: int, problem: dict[str, Any]) -> RepriseError:
    """Returns the exception for a problem document."""
    code = str(problem.get("code", ""))
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or RepriseError
    detail = problem.get("detail") or problem.get("title") or f"the service answered with {status}"
    text = f"{code}: {detail}" if code else str(detail)
    fields: list[dict[str, Any]] = problem.get("errors") or []
    for field in fields:
        text += f"\n  {field.get('pointer') or field.get('parameter') or ''}: {field.get('detail')}"
    return kind(text, status=status, problem=problem)
