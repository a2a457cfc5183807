#!/usr/bin/env bash
# Writes the description of the API, as a service gives it, to a file. The service is started for it, and needs no database.
#
#     tests/description.sh BINARY OUT
set -euo pipefail

work=$(mktemp -d)
service=
trap '[[ -z $service ]] || kill "$service" 2>/dev/null || true; rm -rf "$work"' EXIT

mkfifo "$work/output"
REPRISE__LOG__FILTER=off "$1" serve --listen 127.0.0.1:0 --mongo-uri 'mongodb://127.0.0.1:1/?replicaSet=none' >"$work/output" &
service=$!
exec 3<"$work/output"
read -r said <&3
curl --silent --fail --noproxy '*' --output "$2" "${said#listening on }/openapi.json"
kill "$service"
wait "$service" || true
service=
