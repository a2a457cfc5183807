#!/usr/bin/env bash
# Tests the Python client against a real service, and judges its types.
#
# Needs cargo and Python 3.11 with pip (the client itself needs 3.10); installs the tools below the target directory, once. With
# --write, the types that are made from the description of the API are replaced, and so is the package for threads. With NEWEST=1,
# only the tests are run, with the newest versions of the frameworks.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$(realpath "$(tests/venv.sh python-client clients/python/requirements.txt)")
# AG2 1.x and AG2 classic have the same name.
ag2=$(realpath "$(tests/venv.sh python-client-ag2 clients/python/requirements-ag2.txt)")
REPRISE_BIN=$(tests/build.sh reprise)/reprise
cd clients/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$venv/bin:$PATH" NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src REPRISE_BIN

if [[ -n ${NEWEST:-} ]]; then
  pytest --quiet
  PATH="$ag2/bin:$PATH" pytest --quiet tests/test_store_ag2.py
  exit
fi

../../tests/description.sh "$REPRISE_BIN" "$work/openapi.json"
tools/models.sh "$work/openapi.json" "$work/models.py"
if [[ ${1:-} == --write ]]; then
  cp "$work/models.py" src/reprise/models.py
  python tools/unasync.py
fi
diff --unified=1 src/reprise/models.py "$work/models.py" || { echo "models.py is not up to date: run check.sh --write" >&2; exit 1; }
python tools/unasync.py --check
ruff check --quiet
ruff format --check --quiet
mypy --no-error-summary
pyright --warnings | tail -1
pytest --quiet
export PATH="$ag2/bin:$PATH"
mypy --no-error-summary src/reprise/stores/ag2.py tests/test_store_ag2.py
pyright --warnings src/reprise/stores/ag2.py tests/test_store_ag2.py | tail -1
pytest --quiet tests/test_store_ag2.py
