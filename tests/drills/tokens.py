"""Tokens of persons, orchestrators and operators."""

from __future__ import annotations

import time
from typing import Any

import jwt

SECRET = "a-secret-of-the-drills-of-32-bytes-or-more"
AUDIENCE = "drills"
VALID_SEC = 24 * 3600


def bearer(user_id: str, role: str | None = None, **more: Any) -> str:
    """Returns a token for every app."""
    now = int(time.time())
    claims = {"sub": user_id, "apps": "*", "aud": AUDIENCE, "iat": now, "exp": now + VALID_SEC, **more}
    return jwt.encode(claims if role is None else {**claims, "role": role}, SECRET, "HS256")
