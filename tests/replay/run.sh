#!/usr/bin/env bash
# Loads transcripts in every dialect with its target library.
#
# Needs cargo, Python 3.11 with pip, and Node.js 20 or newer with npm; installs the libraries below the target
# directory and beside this file, once. No model is called, and nothing is sent anywhere. Logs of real runs are
# used if they are available. With NEWEST=1 the newest versions of the libraries are used instead of the pinned ones.
#
# A loader in Python is found by its line `# environment: NAME`, which names its requirements; one environment cannot have
# both AG2 up to 0.14 and AG2 1.x, google-adk needs an older google-genai, and litellm an older openai. With arguments,
# only these loaders run, as in `tests/replay/run.sh adk`.
set -euo pipefail
cd "$(dirname "$0")/../.."

is_chosen() { [[ ${#chosen[@]} == 0 || " ${chosen[*]} " == *" $1 "* ]]; }
chosen=("$@")

node=tests/replay
if [[ -n ${NEWEST:-} ]]; then
  node=${CARGO_TARGET_DIR:-target}/replay-newest
  mkdir -p "$node"
  cp tests/replay/{package.json,loaded.js,.npmrc} "$node"
  names=$(node --print 'Object.keys(require("./tests/replay/package.json").dependencies).join("@latest ")')
  # shellcheck disable=SC2086
  npm --prefix "$node" install --silent --no-audit --no-fund $names@latest
  npm --prefix "$node" ls --depth 0
else
  tests/npm.sh $node
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
built=$(tests/build.sh renderings sessions)
"$built/renderings" --out "$work"

printf '\n| dialect | loaded by | transcripts | messages |\n|---|---|---|---|\n'
export PYTHONDONTWRITEBYTECODE=1
for loader in $(grep --files-with-matches '^# environment: ' tests/replay/*.py); do
  is_chosen "$(basename "$loader" .py)" || continue
  environment=$(sed -n 's/^# environment: //p' "$loader")
  venv=$(tests/venv.sh "$environment" "tests/replay/$environment-requirements.txt")
  "$venv/bin/python" "$loader" "$work" "$built/sessions"
done
if is_chosen loaded; then node "$node/loaded.js" "$work"; fi
