from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from itertools import islice, starmap
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from ..._documents import ListedDocument
from ..._sync.client import Reprise
from ...errors import NotFound
from .._clients import checked_client
from .._paths import join, name_of

#: How deep a namespace can be: the path of a document has 32 segments.
MAX_DEPTH = 30
Names = tuple[str, ...]
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class RepriseStore(BaseStore):
    """Keeps each item as a JSON document, under its namespace and key.

    What it does not do: there is no search by meaning, so that ``query`` and ``index`` have no effect. A search reads all
    items below its namespace prefix, in the order of their paths, and filters them here. The operations of one batch are
    single requests: if one fails, those before it are done. A time to live (``ttl``) counts from the last ``put``; reading
    does not prolong it. ``created_at`` is the time of the last ``put``, by the clock of the client, as ``updated_at`` is. A
    value is JSON of at most 8 MiB, whose keys are texts. ``delete`` has no condition: one that is sent again, because its
    answer was lost, deletes what another client has written to the item in between. A namespace has at most 29 labels, each
    label and key at most 256 bytes. Together with ``prefix``, they have at most 1,024 bytes, in which a ``/``, a ``%`` or a
    control character counts as 3. The asynchronous methods run the others in threads.

    :param client: the client of the app; the caller closes it
    :param prefix: the namespace of the documents
    """

    supports_ttl = True

    def __init__(self, client: Reprise, *, prefix: str = "langgraph-items") -> None:
        self._documents, self._prefix = checked_client(client, Reprise).documents, prefix

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations: all that read, and then all that write; of several writes to one item, the last."""
        results: list[Result] = []
        writes: dict[str, PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                check_value(op)
                writes[self._path(*op.namespace, op.key)] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            else:
                results.append(self._list_namespaces(op))
        for path, op in writes.items():
            self._put(path, op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs :meth:`batch` in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _put(self, path: str, op: PutOp) -> None:
        if op.value is None:
            self._documents.delete(path)
        else:
            seconds = None if op.ttl is None else max(1, round(op.ttl * 60))
            content = {"value": op.value, "put_at": datetime.now(timezone.utc).isoformat()}
            self._documents.put(path, content, ttl_seconds=seconds)

    def _get(self, op: GetOp) -> Item | None:
        try:
            content = self._documents.read(self._path(*op.namespace, op.key)).json()
        except NotFound:
            return None
        put_at = datetime.fromisoformat(content["put_at"])
        return Item(value=content["value"], key=op.key, namespace=op.namespace, created_at=put_at, updated_at=put_at)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        listed = self._documents.list_values(self._path(*op.namespace_prefix))
        kept = (item for item in starmap(self._item, listed) if has_fields(item.value, op.filter or {}))
        if min(op.offset, op.limit) < 0:
            return list(kept)[op.offset : op.offset + op.limit]
        return list(islice(kept, op.offset, op.offset + op.limit))

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Names]:
        listed = self._documents.namespaces(self._prefix, depth=MAX_DEPTH)
        conditions = op.match_conditions or ()
        found = {names[: op.max_depth] for names in map(self._names, listed) if all(fits(each, names) for each in conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _item(self, document: ListedDocument, content: Any) -> SearchItem:
        *namespace, key = self._names(document.path)
        put_at = datetime.fromisoformat(content["put_at"])
        value: dict[str, Any] = content["value"]
        return SearchItem(namespace=tuple(namespace), key=key, value=value, created_at=put_at, updated_at=put_at)

    def _path(self, *names: str) -> str:
        return "/".join((self._prefix, *(join(name) for name in names)))

    def _names(self, path: str) -> Names:
        return tuple(map(name_of, path.removeprefix(f"{self._prefix}/").split("/")))


def check_value(op: PutOp) -> None:
    """Raises ``TypeError`` for a value that is no dictionary: no item could be made of it."""
    value: object = op.value
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"the value of {op.key!r} in {op.namespace} is a dict, not a {type(value).__qualname__}")


def has_fields(fields: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tells whether these fields fit a filter. A name in it is that of a field, also if it begins with ``$``."""
    return all(matches(fields.get(name), each) for name, each in wanted.items())


def matches(value: Any, wanted: Any) -> bool:
    """Tells whether a value fits to a filter: equal in each key, or to each operator such as ``{"$gt": 3}``."""
    if isinstance(wanted, Mapping):
        wanted = cast("Mapping[str, Any]", wanted)
        if any(key.startswith("$") for key in wanted):
            return all(compares(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and has_fields(cast("Mapping[str, Any]", value), wanted)
    if isinstance(wanted, (list, tuple)):
        items = cast("list[Any]", wanted)
        if not isinstance(value, (list, tuple)) or len(cast("list[Any]", value)) != len(items):
            return False
        return all(map(matches, cast("list[Any]", value), items))
    return bool(value == wanted)


def compares(value: Any, name: str, operand: Any) -> bool:
    """Tells whether a value fits to one operator."""
    if name == "$eq":
        return bool(value == operand)
    if name == "$ne":
        return bool(value != operand)
    if name not in COMPARISONS:
        raise ValueError(f"there is no operator {name}; there are $eq, $ne, {', '.join(COMPARISONS)}")
    return COMPARISONS[name](float(value), float(operand))


def fits(condition: MatchCondition, namespace: Names) -> bool:
    """Tells whether a namespace begins or ends with labels, of which ``*`` is any."""
    labels = condition.path
    if len(namespace) < len(labels):
        return False
    part = namespace[: len(labels)] if condition.match_type == "prefix" else namespace[len(namespace) - len(labels) :]
    return all(label in ("*", name) for label, name in zip(labels, part, strict=True))
