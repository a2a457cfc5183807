#!/usr/bin/env bash
# Runs every command and program of the tutorials and of the pages below "How to", in order, and compares what they print with
# what the pages show. Tests the calculator, that the reference describes this service, and that a browser draws the diagrams.
#
#     docs/book/check.sh BINARY [PAGE...]
#
# PAGE is a path below docs/book/src, such as tutorials/python.md; without one, all pages are run. Needs Python 3.11 with pip, and
# Node.js 20 or newer with npm; installs the packages of the clients' tests below the target directory, and Debian's Chromium if
# it is missing.
set -euo pipefail
binary=$(realpath "${1:?usage: docs/book/check.sh BINARY [PAGE...]}")
shift
cd "$(dirname "$0")/../.."

venv=$(realpath "$(tests/venv.sh python-client clients/python/requirements.txt)")
tests/npm.sh clients/typescript
tests/chromium.sh
clients/typescript/node_modules/.bin/tsc --project clients/typescript

node --test docs/book/tests/capacity.test.js
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
docs/book/build.sh "$site"
node docs/book/tests/diagrams.mjs "$site"
"$venv/bin/python" docs/book/tools/run_pages.py "$binary" "$@"
