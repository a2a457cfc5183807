#!/usr/bin/env bash
# The drills: real services on real members of a replica set, under faults that no other test applies.
#
#     tests/drills/run.sh [BINARY] [PYTEST ARGUMENT...]     the drills of docs/FAULTS.md
#     tests/drills/run.sh soak [BINARY] [ARGUMENT...]       everything at once, for an hour; see soak.py
#
# Needs cargo, unless a binary is given, and Python 3.11 with pip; installs the packages below the target directory, once. Full disks
# need root, and clocks that jump need libfaketime or a Debian from which it is downloaded: without, these drills say that they are
# skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=drills
if [[ ${1:-} == soak ]]; then
    mode=soak
    shift
fi
if [[ -f ${1:-} && -x ${1:-} ]]; then
    binary=$1
    shift
else
    binary=$(tests/build.sh reprise)/reprise
fi
venv=$(realpath "$(tests/venv.sh drills tests/drills/requirements.txt)")
REPRISE_BIN=$(realpath "$binary")
export REPRISE_BIN NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 PATH="$venv/bin:$PATH"
if [[ $mode == soak ]]; then
    exec python tests/drills/soak.py "$@"
fi
cd tests/drills
ruff check --quiet --no-cache
ruff format --check --quiet --no-cache
pytest --quiet -rsx "$@"
