#!/usr/bin/env bash
# Runs the clients that are not written in Rust, against their own service.
#
# Needs cargo and Python 3.11 with pip; installs the clients' packages below the target directory, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-target}
venv=$(tests/venv.sh clients tests/clients/requirements.txt)
cargo build --quiet --release --package reprise
work=$(mktemp -d)
mkfifo "$work/output"
REPRISE__LOG__FILTER=warn \
  "$target/release/reprise" serve --listen 127.0.0.1:0 --data-dir "$work/data" >"$work/output" &
service=$!
trap 'kill "$service" 2>/dev/null || true; wait "$service" || true; rm -rf "$work"' EXIT

exec 3<"$work/output"
read -r said <&3
NO_PROXY=127.0.0.1 "$venv/bin/python" tests/clients/ag2_resume.py --url "${said#listening on }"
