"""Valid and forged tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

SECRET = "a-secret-of-the-tests-of-32-bytes-or-more"
ISSUER, AUDIENCE = "https://login.example", "reprise"


def part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a person, with some changed, or removed by a ``None``."""
    now = int(time.time())
    usual = {"sub": "alice", "apps": "*", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600}
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def signed(header: Any, payload: Any, secret: bytes = SECRET.encode(), digest: str = "sha256") -> str:
    """A token with exactly this header and payload."""
    text = f"{part(header)}.{part(payload)}"
    return f"{text}.{part(hmac.new(secret, text.encode(), getattr(hashlib, digest)).digest())}"


def bearer(changes: dict[str, Any]) -> str:
    return signed({"alg": "HS256", "typ": "JWT"}, claims(**changes))
