"""Renderings, as written by `tests/src/bin/renderings.rs`."""

import inspect
import json
import sys
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


def written(dialect: str, transcripts: list[list[dict]]) -> None:
    """Compares what a library writes with the fixture, or writes the fixture."""
    path = Path(__file__).parents[2] / "fixtures" / "written" / f"{dialect}.jsonl"
    lines = "".join(json.dumps({"messages": messages}) + "\n" for messages in transcripts)
    if sys.argv[1] == "--write":
        path.write_text(lines)
    else:
        # Versions of a library order the fields of an object differently.
        parsed = [json.loads(line) for line in path.read_text().splitlines()]
        assert parsed == [json.loads(line) for line in lines.splitlines()], f"{path} is not what the library writes"


def contains(held: object, given: object, place: str = "") -> None:
    """Checks that the parsed values contain the whole input."""
    if isinstance(given, dict) and isinstance(held, dict):
        for field, value in given.items():
            assert field in held, f"{place}/{field} is lost"
            contains(held[field], value, f"{place}/{field}")
    elif isinstance(given, list) and isinstance(held, list):
        assert len(held) == len(given), f"{place} has {len(held)} of {len(given)} items"
        for index, (one, other) in enumerate(zip(held, given)):
            contains(one, other, f"{place}/{index}")
    else:
        assert held == given, f"{place} is held as {held!r}"
