#!/usr/bin/env bash
# Prints the path of a Python environment with the packages of a requirements file; installs it once.
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
