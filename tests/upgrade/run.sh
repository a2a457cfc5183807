#!/usr/bin/env bash
# Upgrades a database from the previous release to this one under load, and back, and finds nothing lost.
#
#     tests/upgrade/run.sh [--cycles N] [--plant lose|double|reorder]
#     tests/upgrade/run.sh PREVIOUS NEW [ARGUMENT...]     with binaries that are there
#
# Builds the previous release unless it is built (see previous.sh), and this one. The steps are in drill.py. --cycles is how often
# a process is rolled back and forward again (1). With --plant the drill makes the database wrong, and must fail; without it, it
# plants each of the faults at its end, and fails unless it finds them. Needs cargo, git, and Python 3.11 with pip.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ $# -ge 2 && $1 != --* ]]; then
    previous=$1 new=$2
    shift 2
else
    status=0
    previous=$(tests/upgrade/previous.sh) || status=$?
    if [[ $status == 3 ]]; then
        echo "NOT CHECKED: upgrades, because the previous release is not in this clone"
        exit
    fi
    [[ $status == 0 ]] || exit "$status"
    new=$(tests/build.sh reprise local-mongod)/reprise
fi
# Where tests/build.sh has put it, unless the binary comes from elsewhere.
mongod=$(dirname "$new")/local-mongod
[[ -x $mongod ]] || mongod=$(tests/build.sh local-mongod)/local-mongod
python=$(realpath "$(tests/venv.sh upgrade tests/upgrade/requirements.txt)")/bin/python
export NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1
exec "$mongod" run -- "$python" tests/upgrade/drill.py --previous "$previous" --new "$new" "$@"
