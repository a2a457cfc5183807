"""Makes the package ``_sync`` from ``_async``; with ``--check``, fails if it is not what it would become.

python tools/unasync.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "reprise" / "_async"
TARGET = SOURCE.with_name("_sync")
#: Written by hand on both sides.
BY_HAND = {"clock.py"}
WORDS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\ba(close|iter|iter_text|next|read)\b", r"\1"),
    (r"\bAsyncGenerator\[(.*?), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync(?=[A-Z])", ""),
    (
        r"The client for asyncio\. ``tools/unasync\.py`` makes the package ``_sync`` from this one\.",
        "The client that waits for each answer. ``tools/unasync.py`` makes it from the package ``_async``.",
    ),
    (r"with the next event of the model, or within 10 s if the model is silent\.", "with the next event of the model."),
    (
        r"If the lease is lost, the block is cancelled and ends with :class:`~reprise\.Fenced`\.",
        "If the lease is lost, every write of the block raises :class:`~reprise.Fenced`, and so does its end.",
    ),
]


def without_async(text: str) -> str:
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return text


def main() -> int:
    stale: list[str] = []
    for source in sorted(SOURCE.glob("*.py")):
        target = TARGET / source.name
        if source.name in BY_HAND:
            continue
        text = without_async(source.read_text())
        if not target.exists() or target.read_text() != text:
            stale.append(target.name)
            if "--check" not in sys.argv:
                target.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"not up to date, run tools/unasync.py: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
