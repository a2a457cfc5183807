"""Tokens, headers and addresses that HTTP does not permit: refused at once, and the token is in no text."""

from __future__ import annotations

import httpx
import pytest

from reprise import AsyncReprise, InvalidRequest, InvalidValue, Reprise

from .conftest import Service
from .faults import Faults


@pytest.mark.parametrize("token", ["s3cret\n", "s3cret ", "s3cret\u00e9", "\x00s3cret", "s3cret\ud83d"])
def test_a_token_that_no_header_can_have_is_refused_at_once(token: str) -> None:
    for make in (Reprise, AsyncReprise):
        with pytest.raises(ValueError, match=r"^token: the character \d is ") as refused:
            make("http://127.0.0.1:9", "acme_corp", token=token)
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("content_type", ["a\nb", "a\u00e9", " a"])
def test_a_header_that_http_does_not_permit_is_refused_at_once(service: Service, app: str, content_type: str) -> None:
    with Reprise(service.url, app) as client:
        for write in (client.documents.put, client.documents.append):
            with pytest.raises(InvalidValue, match=r"^content-type: the character \d is "):
                write("notes/lake", b"", content_type=content_type)
        with pytest.raises(InvalidValue, match=r"^if-match: "):
            client.documents.delete("notes/lake", if_match="a\nb")
        with pytest.raises(InvalidValue, match=r"^last-event-id: "):
            next(iter(client.create_chat("Picnic").events(after="1\n")))


def test_a_request_that_http_does_not_permit_is_no_fault_of_the_network(service: Service, app: str, faults: Faults) -> None:
    def fault(request: httpx.Request) -> None:
        raise httpx.LocalProtocolError("Illegal header value b'Bearer s3cret'")

    with httpx.Client(transport=faults) as http:
        client = Reprise(service.url, app, http=http)
        chat = client.create_chat("Picnic")
        faults.fault = fault
        for call in (chat.session, chat.complete, lambda: next(iter(chat.events()))):
            with pytest.raises(InvalidRequest, match="HTTP does not permit") as refused:
                call()
            assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://a?", "http://a#"])
def test_a_base_url_ends_with_its_path(url: str) -> None:
    with pytest.raises(ValueError, match="is no base URL"):
        Reprise(url, "acme_corp")
