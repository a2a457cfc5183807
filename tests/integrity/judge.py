"""Judges the integrity of stored messages with agmi, the suite of agent-memory-integrity.

    local-mongod run -- python tests/integrity/judge.py REPRISE

agmi makes nine edits in the database, without the service, and asks whether they are noticed. Prints its table. Fails unless
every edit is reported with a key and exported checkpoints, every one but the last without these checkpoints, and none without a
key: an edit that is reported there as well would say nothing about the integrity. Before each edit agmi asks for an audit of the
untouched database, which must find nothing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from agmi import check

from adapter import RepriseAdapter
from service import create_key

T9 = "snapshot_rollback"
EDITS = 9


def main() -> int:
    binary = Path(sys.argv[1]).resolve()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        key = create_key(Path(folder))
        adapters = [
            RepriseAdapter("Reprise, with a key and exported checkpoints", binary, key, exports_checkpoints=True),
            RepriseAdapter("Reprise, with a key", binary, key),
            RepriseAdapter("Reprise, without a key", binary, None),
        ]
        failed = [problem for adapter in adapters for problem in judge(adapter)]
    print(f"\n{time.monotonic() - began:.0f} s")
    for problem in failed:
        print(problem, file=sys.stderr)
    return 1 if failed else 0


def judge(adapter: RepriseAdapter) -> list[str]:
    """Prints the table of a service; returns what is not as expected."""
    rows = check.run(adapter)
    print(check.render(adapter.name, rows), end="\n\n", flush=True)
    problems = [] if len(rows) == EDITS else [f"{adapter.name}: {len(rows)} edits instead of {EDITS}"]
    for row in rows:
        needs_checkpoints = row["attack"] == T9 and not adapter.exports_checkpoints
        is_found = adapter.key is not None and not needs_checkpoints
        expected = "REPORTED" if is_found else "ACCEPTED"
        # Another fault would mean that the edit left the database in a state that no service leaves.
        by_integrity = not is_found or "FAULT  integrity" in row["detail"]
        if row["verdict"] != expected or not by_integrity:
            problems.append(f"{adapter.name}: {row['edit']}: {row['verdict']} instead of {expected}: {row['detail']}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
