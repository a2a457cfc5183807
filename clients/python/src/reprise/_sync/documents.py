from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .. import models
from .._documents import (
    BEHIND_THE_END,
    Content,
    DocumentInfo,
    ListedDocument,
    conditions,
    content_id,
    content_of,
    document_url,
    encoded,
    info_of,
)
from .._request import Request, new_id
from .._request import path as joined
from ..errors import Conflict, Denied, InvalidRequest, NotFound
from .events import Events
from .pages import pages
from .transport import Transport

#: How often a long read starts again because the document was replaced meanwhile.
MAX_READ_ATTEMPTS = 5


class Documents:
    """The documents of an app: content under a path, such as ``notes/2026/lake``, that is replaced, appended to and listed.

    A path is 1 to 32 segments joined by ``/``, each 1 to 256 bytes, and has at most 1,024 bytes in all.
    One write holds at most 8 MiB, a document at most 1 GiB.
    A namespace is the beginning of paths: a document is below it, but not at it.
    """

    def __init__(self, transport: Transport, app_id: str) -> None:
        self._transport, self._app_id = transport, app_id

    def put(
        self,
        path: str,
        content: Any,
        *,
        content_type: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Any,
    ) -> models.Document:
        """Replaces the content of a document, and creates the document if there is none.

        A call whose answer is lost is sent again, and the service recognises it among the last 64 writes of the document. Where
        several clients write a document, pass ``if_match`` or ``if_none_match``.

        :param content: bytes (``bytearray`` and ``memoryview``, too) and text are stored as they are; everything else as JSON
        :param if_match: replace it only if its ``entity_tag`` is this; otherwise :class:`~reprise.PreconditionFailed`
        :param if_none_match: ``"*"`` only creates; :class:`~reprise.PreconditionFailed` if the document exists
        :param fields: ``chat_id``, ``user_id``, ``team_id``, ``visibility`` and ``ttl_seconds``
        """
        request = self._write("PUT", path, content, content_type, fields)
        request.headers |= conditions(if_match, if_none_match)
        return models.Document.model_validate(self._transport.json(request))

    def append(
        self,
        path: str,
        content: Any,
        *,
        offset: int | None = None,
        if_match: str | None = None,
        content_type: str | None = None,
        **fields: Any,
    ) -> models.AppendedDocument:
        """Appends to a document, and creates it if there is none.

        A call whose answer is lost is sent again. Without ``offset`` and ``if_match``, the service recognises it among the last
        64 appends to the document: after 64 others in between it is stored twice.

        :param offset: append only if the document has this many bytes; otherwise :class:`~reprise.PreconditionFailed`.
            No other client has then written in between. If exactly these bytes are at this offset already, the service
            takes the call for a retry, and stores nothing: two writers must not send the same bytes.
        :param if_match: append only if the ``entity_tag`` of the document is this
        :param fields: those of :meth:`put`, for a document that the call creates
        """
        request = self._write("POST", path, content, content_type, {**fields, "offset": offset})
        request.headers |= conditions(if_match)
        return models.AppendedDocument.model_validate(self._transport.json(request))

    def read(self, path: str) -> Content:
        """Reads a document, however long it is."""
        return self.read_range(path, 0)

    def read_range(self, path: str, start: int, end: int | None = None) -> Content:
        """Reads the bytes from ``start`` to before ``end``, or to the end of the document.

        What is behind the end of the document is read as empty. A range that takes several requests is of one version of the
        document; :class:`~reprise.Conflict` if the document is replaced all the time. Appends do not disturb.
        """
        if start < 0:
            raise ValueError("start must not be negative")
        if end is not None and end <= start:
            return self._no_bytes(path, start)
        for _ in range(MAX_READ_ATTEMPTS):
            found = self._read_version(path, start, end)
            if found is not None:
                return found
        raise Conflict(f"{path} was replaced during each of {MAX_READ_ATTEMPTS} attempts to read it")

    def head(self, path: str) -> DocumentInfo:
        """Reads the size, the type and the ``entity_tag`` of a document, without its content."""
        try:
            return info_of(self._transport.send(Request("HEAD", document_url(self._app_id, path))))
        except (Denied, InvalidRequest, NotFound) as error:
            if error.problem:
                raise
        # The answer to HEAD has no body: that to GET says what is wrong.
        found = self._read_part(path, 0, 1)
        return DocumentInfo(found.size, found.content_type, found.entity_tag)

    def delete(self, path: str, *, if_match: str | None = None) -> None:
        """Deletes a document; nothing happens if there is none.

        A call without ``if_match`` whose answer is lost is sent again, and then deletes what another client has written under
        the path in between.
        """
        self._transport.send(Request("DELETE", document_url(self._app_id, path), headers=conditions(if_match)))

    def list(
        self, namespace: str = "", *, content: bool = False, page_size: int = 100, **filters: Any
    ) -> Iterator[ListedDocument]:
        """Lists the documents below a namespace, ordered by their paths.

        :param content: read the contents, too; a document of more than 1 MiB comes without (see ``has_content``)
        """
        params = {"namespace": namespace or None, "content": content or None, **filters}
        listed = joined("api", "documents", self._app_id)
        found = pages(self._transport, listed, ListedDocument.model_validate, page_size, params)
        for document in found:
            yield document

    def list_values(self, namespace: str = "", **filters: Any) -> Iterator[tuple[ListedDocument, Any]]:
        """Lists documents of JSON with their values, however large; one that is deleted meanwhile is left out."""
        for document in self.list(namespace, content=True, **filters):
            if document.has_content:
                yield document, document.parsed()
                continue
            try:
                value = (self.read(document.path)).json()
            except NotFound:
                continue
            yield document, value

    def delete_all(self, namespace: str) -> int:
        """Deletes the documents below a namespace, and returns how many deletions the service has confirmed.

        After the call, all are deleted that were there before. A request whose answer is lost is sent again, and then finds
        nothing: its documents are not counted, so that the number may be smaller than that of the deleted documents.
        """
        request = Request("DELETE", joined("api", "documents", self._app_id), params={"namespace": namespace})
        count = 0
        while True:
            answer = models.DeletedDocuments.model_validate(self._transport.json(request))
            count += answer.deleted
            if not answer.has_more:
                return count

    def namespaces(self, within: str = "", *, depth: int = 1, page_size: int = 100) -> Iterator[str]:
        """Lists the namespaces within another one that have documents, each cut off at a depth below it."""
        listed = joined("api", "document-namespaces", self._app_id)
        params = {"namespace": within or None, "depth": depth}
        previous: str | None = None
        for found in pages(self._transport, listed, models.Namespace.model_validate, page_size, params):
            # The first one of a page may be the last one of the page before.
            if found.namespace != previous:
                yield found.namespace
            previous = found.namespace

    def events(self, namespace: str = "", *, after: str | None = None) -> Events:
        """Follows the documents below a namespace: ``for event in documents.events("notes")``.

        ``changed`` has the ``path`` and the ``version`` of a document that was written, ``deleted`` its ``path``. ``resync``
        comes first, and again whenever changes may be missing: list the documents then, every later change follows. Only a
        token of the role ``service`` hears of deletions one by one; others get ``resync``.

        :param after: the ``last_id`` of an earlier iteration; events that the service no longer knows are one ``resync``
        """
        params = {"namespace": namespace or None}
        return Events(self._transport, joined("api", "document-events", self._app_id), after, params)

    def _read_version(self, path: str, start: int, end: int | None) -> Content | None:
        """Reads a range of one version, in as many requests as it takes; ``None`` if the document is replaced meanwhile."""
        first = self._read_part(path, start, end)
        parts, at = [first.data], first.end
        stop = first.size if end is None else min(end, first.size)
        while at < stop:
            part = self._read_part(path, at, stop)
            if content_id(part) != content_id(first):
                return None
            parts.append(part.data)
            at = part.end
        return replace(first, data=b"".join(parts))

    def _read_part(self, path: str, start: int, end: int | None) -> Content:
        request = Request("GET", document_url(self._app_id, path), answers=frozenset({BEHIND_THE_END}))
        request.headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        response = self._transport.send(request)
        if response.status_code == BEHIND_THE_END:
            # The type in this response is that of a problem.
            return self._no_bytes(path, start)
        return content_of(response, start)

    def _no_bytes(self, path: str, start: int) -> Content:
        return Content(**vars(self.head(path)), data=b"", start=start)

    def _write(self, method: str, path: str, content: Any, content_type: str | None, params: dict[str, Any]) -> Request:
        data, kind = encoded(content, content_type)
        headers = {"content-type": kind, "idempotency-key": new_id()}
        return Request(method, document_url(self._app_id, path), params=params, content=data, headers=headers)
