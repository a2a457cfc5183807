#!/usr/bin/env bash
# The drills: real services on real members of a replica set, under faults that no other test applies.
#
#     tests/drills/run.sh [BINARY [PYTEST ARGUMENT...]]       the cases of docs/FAULTS.md
#     tests/drills/run.sh soak BINARY [ARGUMENT...]           everything at once, for an hour; see soak.py
#
# Needs cargo, unless a binary is given, and Python 3.11 with pip; installs the packages below the target directory, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

soak=
if [[ ${1:-} == soak ]]; then
    soak=1
    shift
fi
venv=$(realpath "$(tests/venv.sh drills tests/drills/requirements.txt)")
REPRISE_BIN=$(realpath "${1:-$(tests/build.sh reprise)/reprise}")
shift || true
export REPRISE_BIN NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 PATH="$venv/bin:$PATH"
if [[ $soak ]]; then
    exec python tests/drills/soak.py "$@"
fi
cd tests/drills
ruff check --quiet --no-cache
ruff format --check --quiet --no-cache
pytest --quiet "$@"
