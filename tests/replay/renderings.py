"""Renderings, as written by `tests/src/bin/renderings.rs`."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path


#: Marks a rendering that the library rightly rejects.
REFUSED = object()


def each(directory: Path, dialect: str, library: str, load: Callable[..., None]) -> None:
    """Loads every non-empty rendering in a dialect, and prints their number.

    `load` takes the messages, and `system` if it wants the instructions. It may answer `REFUSED`.
    """
    transcripts = messages = 0
    for line in (directory / f"{dialect}.jsonl").read_text().splitlines():
        rendering = json.loads(line)
        if not rendering["messages"]:
            continue
        beside = {"system": rendering["system"]} if takes_system(load) else {}
        try:
            if load(rendering["messages"], **beside) is REFUSED:
                continue
        except Exception as error:
            error.add_note(f"{library} was given {rendering['source']} in {dialect}")
            raise
        transcripts += 1
        messages += len(rendering["messages"])
    print(f"| `{dialect}` | {library} | {transcripts} | {messages} |")


def takes_system(load: Callable[..., None]) -> bool:
    return "system" in inspect.signature(load).parameters
