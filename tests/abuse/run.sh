#!/usr/bin/env bash
# Attacks the service: runs the cases of docs/ABUSE.md against real processes on a private mongod.
#
#     tests/abuse/run.sh [BINARY [PYTEST ARGUMENT...]]
#
# Needs cargo, unless a binary is given, and Python 3.11 with pip; installs the packages below the target directory, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$(realpath "$(tests/venv.sh abuse tests/abuse/requirements.txt)")
REPRISE_BIN=$(realpath "${1:-$(tests/build.sh reprise)/reprise}")
shift || true
export REPRISE_BIN NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 PATH="$venv/bin:$PATH"
cd tests/abuse
ruff check --quiet --no-cache
ruff format --check --quiet --no-cache
pytest --quiet "$@"
