"""The client that a store is given."""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C")


def checked_client(client: object, kind: type[C]) -> C:
    """Returns the client; ``TypeError`` if it is of another kind, whose calls would not do what the store needs."""
    if not isinstance(client, kind):
        raise TypeError(f"the client must be of the class {kind.__name__}, and not {type(client).__name__}")
    return client
