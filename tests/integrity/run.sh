#!/usr/bin/env bash
# Edits messages in the database without the service, and fails unless `reprise check --deep` reports every edit (see judge.py).
#
#     tests/integrity/run.sh [BINARY]
#
# Needs cargo, unless a binary is given that has local-mongod beside it, openssl, and Python 3.11 with pip; installs the packages
# below the target directory, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

reprise=$(realpath "${1:-$(tests/build.sh reprise local-mongod)/reprise}")
mongod=$(dirname "$reprise")/local-mongod
[[ -x $mongod ]] || mongod=$(tests/build.sh local-mongod)/local-mongod
python=$(realpath "$(tests/venv.sh integrity tests/integrity/requirements.txt)")/bin/python
export NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1
exec "$mongod" run -- "$python" tests/integrity/judge.py "$reprise"
