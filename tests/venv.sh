#!/usr/bin/env bash
# Prints where a Python environment is that has what a file of requirements wants; installs it, once.
#
#     tests/venv.sh NAME REQUIREMENTS
#
# Needs Python 3.11 with pip.
set -euo pipefail

venv=${CARGO_TARGET_DIR:-target}/$1-venv
wanted=$2
if ! cmp --silent "$wanted" "$venv/installed.txt"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  cp "$wanted" "$venv/installed.txt"
fi
echo "$venv"
