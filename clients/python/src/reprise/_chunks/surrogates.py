"""Characters of two surrogates, which a provider may cut between two events."""

from __future__ import annotations

from typing import Any, cast

from .._json import SURROGATE

#: What stands for a surrogate without the other one.
REPLACEMENT = "\ufffd"


def whole(text: str) -> str:
    """Returns a text with its pairs of surrogates as the characters that they mean, and others replaced."""
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_texts(value: Any) -> Any:
    """Returns a value of JSON, with all its texts and names of fields whole."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        fields = cast("dict[object, Any]", value).items()
        return {whole(name) if isinstance(name, str) else name: whole_texts(field) for name, field in fields}
    if isinstance(value, (list, tuple)):
        return [whole_texts(item) for item in cast("list[Any]", value)]
    return value


def whole_and_half(text: str) -> tuple[str, str]:
    """Returns a text, and apart from it the first surrogate of a pair at its end, whose second one may follow."""
    if "\ud800" <= text[-1:] <= "\udbff":
        return whole(text[:-1]), text[-1]
    return whole(text), ""
