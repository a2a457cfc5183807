#!/usr/bin/env bash
# Prints the path of a Python environment with the packages of a requirements file; installs it once.
#
#     tests/venv.sh NAME REQUIREMENTS
#
# Needs Python 3.11 with pip. With NEWEST=1 the environment is another one: it has the newest versions, or what the
# comment behind a package allows, as in `ag2==0.9.9  # newest: <0.15`. It is brought up to date each time.
set -euo pipefail

target=${CARGO_TARGET_DIR:-target}
wanted=$2
if [[ -n ${NEWEST:-} ]]; then
  venv=$target/$1-newest-venv
  [[ -x $venv/bin/python ]] || python3 -m venv "$venv"
  sed -E 's/==[^ ]*( *# newest: )?//' "$wanted" >"$venv/wanted.txt"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --upgrade --requirement "$venv/wanted.txt"
  names=$(sed -E 's/[<>=].*//' "$venv/wanted.txt" | paste -sd '|')
  "$venv/bin/pip" list --disable-pip-version-check --format freeze | grep -E "^($names)==" >&2
  echo "$venv"
  exit
fi
venv=$target/$1-venv
# Tests that run beside each other may want the same one.
mkdir -p "$target"
exec 9>"$venv.lock"
flock 9
if ! cmp --silent "$wanted" "$venv/installed.txt"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  cp "$wanted" "$venv/installed.txt"
fi
echo "$venv"
