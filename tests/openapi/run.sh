#!/usr/bin/env bash
# Judges the description of the API: by itself, against the service, and by the clients that are generated from it.
#
# Needs cargo, Python 3.11 with pip, and Node.js 20 or newer with npm; installs the packages below the target directory
# and beside this file, once. EXAMPLES is the number of cases that schemathesis makes up for each operation, besides
# those that it derives (20), and SEED their seed (1).
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$(realpath "$(tests/venv.sh openapi tests/openapi/requirements.txt)")
tests/npm.sh tests/openapi
tests=$PWD/tests/openapi
modules=$tests/node_modules
# Below this directory, because the ruleset of spectral names it.
document=$modules/reprise/openapi.json
mkdir -p "$modules/reprise"
"$venv/bin/pip" list --disable-pip-version-check --format freeze |
  grep -E '^(openapi-spec-validator|schemathesis|openapi-python-client)=='
npm --prefix tests/openapi ls --depth 0 2>/dev/null | grep @[0-9]

reprise=$(tests/build.sh reprise)/reprise
work=$(mktemp -d)
trap 'stop; rm -rf "$work"' EXIT
export NO_PROXY=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 PATH="$venv/bin:$PATH"

many=${EXAMPLES:-20} few=$((${EXAMPLES:-20} / 4))

# start SETTING... : starts a service of its own, and sets its url.
start() {
  rm -f "$work/output"
  mkfifo "$work/output"
  # One person sends hundreds of requests a second, many of them without a valid token.
  env REPRISE__LOG__FILTER=error REPRISE__LIMITS__REQUESTS_PER_SEC_PER_USER=0 \
    REPRISE__LIMITS__NEW_CHATS_PER_MIN_PER_USER=0 REPRISE__LIMITS__FAILED_ATTEMPTS_PER_MIN_PER_ADDRESS=0 "$@" \
    "$reprise" serve --listen 127.0.0.1:0 --data-dir "$work/$RANDOM" \
    >"$work/output" &
  service=$!
  exec 3<"$work/output"
  read -r said <&3
  url=${said#listening on }
  curl --silent --fail --retry 20 --retry-delay 1 --retry-all-errors --output /dev/null "$url/api/health/ready"
}
stop() {
  [[ -z ${service:-} ]] || { kill "$service" 2>/dev/null && wait "$service"; } || true
  service=
}
# token ROLE: a token that the service with tokens accepts.
token() {
  node --input-type=module --eval 'import { bearer } from "./tests/browser/tokens.js";
    console.log(bearer({ sub: "tester", apps: "*", role: process.argv[1] }))' "$1"
}
step() { printf '\n-- %s (%s)\n' "$*" "$(date -u +%H:%M:%S)"; }

# fuzz ROLE EXAMPLES DOCUMENT: sends what the description permits, and what it forbids.
fuzz() {
  # One worker, for the same cases in every run. A live stream has no end: the tours and other tests read it.
  local authorization
  authorization="Authorization: Bearer $(token "$1")"
  OPERATOR=$(token operator)
  export OPERATOR PYTHONPATH=$tests SCHEMATHESIS_HOOKS=hooks
  # It leaves files where it runs.
  (cd "$work" && schemathesis --config-file "$tests/schemathesis.toml" run "$3" --url "$url" \
    --header "$authorization" --workers 1 --seed "${SEED:-1}" --max-examples "$2" \
    --exclude-operation-id listen --exclude-operation-id listen_to_documents \
    --exclude-operation-id resume_ui_stream --request-timeout 30 --continue-on-failure --no-color --warnings off \
    >fuzz.txt) || { cat "$work/fuzz.txt"; return 1; }
  echo "as $1: $(grep -A1 '^Test cases:' "$work/fuzz.txt" | tail -1)"
}
tours() {
  PYTHONPATH="$work" python tests/openapi/tour.py --url "$url" --token "$(token service)"
  node "$modules/reprise/tour.js" "$url" "$(token service)"
}

settings=$(node --input-type=module --eval 'import { settings } from "./tests/browser/tokens.js";
  for (const [name, value] of Object.entries(settings)) console.log(`${name}=${value}`)')
tests/description.sh "$reprise" "$document"
# shellcheck disable=SC2086
start $settings

step "openapi-spec-validator"
openapi-spec-validator "$document"

step "spectral"
"$modules/.bin/spectral" lint --ruleset tests/openapi/spectral.yaml --fail-severity hint "$document"

step "clients: openapi-python-client, openapi-typescript"
openapi-python-client generate --path "$document" --output-path "$work/reprise_client" --meta none \
  --config tests/openapi/python-client.yaml --fail-on-warning
"$modules/.bin/openapi-typescript" "$document" --output "$modules/reprise/index.d.ts"
"$modules/.bin/tsc" --project tests/openapi --outDir "$modules/reprise"

# The tours first: among the rest, apps are disabled.
step "with tokens: the tours, then schemathesis"
tours
fuzz user "$few" "$document"
fuzz service "$many" "$document"
stop

start
step "without tokens: the same"
tours
# There the requests are the same, and the rest differs in nothing that they could find; `.ci/long` sends them.
if [[ $many -ge 20 ]]; then
  # Then no operation needs what the description says under `security`.
  open=$modules/reprise/open.json
  node --eval 'const text = require("node:fs").readFileSync(0, "utf8");
    console.log(JSON.stringify(JSON.parse(text, (key, value) => (key === "security" ? undefined : value))))' \
    <"$document" >"$open"
  fuzz service "$few" "$open"
fi
