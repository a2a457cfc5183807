#!/usr/bin/env bash
# Runs the clients that are not written in Rust, against their own service.
#
# Needs cargo, Python 3.11 with pip, and Node.js 20 or newer with npm; installs the packages of the clients below the target
# directory and beside them, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$(tests/venv.sh clients tests/clients/requirements.txt)
tests/npm.sh tests/clients/{acp,chatsg}
reprise=$(tests/build.sh reprise)/reprise
work=$(mktemp -d)
mkfifo "$work/output"
REPRISE__LOG__FILTER=warn REPRISE__ADAPTERS__CHATSG__ENABLED=true REPRISE__ADAPTERS__CHATSG__APP_ID=chats \
  REPRISE__ADAPTERS__CHATSG__LISTEN=127.0.0.1:0 \
  REPRISE__ADAPTERS__DISCOBOT__ENABLED=true REPRISE__ADAPTERS__DISCOBOT__APP_ID=chats \
  REPRISE__ADAPTERS__DISCOBOT__LISTEN=127.0.0.1:0 \
  "$reprise" serve --listen 127.0.0.1:0 --data-dir "$work/data" >"$work/output" &
service=$!
trap 'kill "$service" 2>/dev/null || true; wait "$service" || true; rm -rf "$work"' EXIT

exec 3<"$work/output"
read -r said <&3
read -r _ <&3
read -r chats <&3
read -r sessions <&3
url=${said#listening on }
curl --silent --fail --noproxy '*' --retry 120 --retry-delay 1 --retry-all-errors "$url/api/health/ready" >/dev/null
NO_PROXY=127.0.0.1 node tests/clients/chatsg/client.js "${chats#adapter chatsg listening on }"
REPRISE__LOG__FILTER=warn NO_PROXY=127.0.0.1 node tests/clients/acp/client.js "$reprise" "$work/data" \
  "${sessions#adapter discobot listening on }"
NO_PROXY=127.0.0.1 PYTHONPATH=clients/python/src "$venv/bin/python" tests/clients/ag2_resume.py --url "$url"
