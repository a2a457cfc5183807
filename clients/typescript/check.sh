#!/usr/bin/env bash
# Tests the TypeScript client against a real service, in Node.js and in Chromium, and judges its types.
#
# Needs cargo, and Node.js 20 or newer with npm. Installs the npm packages of the lock file beside the client, and Debian's
# Chromium if it is missing; CHROMIUM names another one, and REPRISE_BIN a binary that is not built here. With --write, the types
# that are made from the description of the API are replaced, and everything is formatted.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/chromium.sh
tests/npm.sh clients/typescript
if [[ -z ${REPRISE_BIN:-} ]]; then
  REPRISE_BIN=$(tests/build.sh reprise)/reprise
fi
cd clients/typescript
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NO_PROXY=127.0.0.1 PATH="$PWD/node_modules/.bin:$PATH" REPRISE_BIN

../../tests/description.sh "$REPRISE_BIN" "$work/openapi.json"
node tools/types.js "$work/openapi.json" "$work/openapi.ts"
if [[ ${1:-} == --write ]]; then
  cp "$work/openapi.ts" src/openapi.ts
  prettier --log-level warn --write .
fi
diff --unified=1 src/openapi.ts "$work/openapi.ts" || { echo "openapi.ts is not up to date: run check.sh --write" >&2; exit 1; }
prettier --log-level warn --check .
rm -rf dist build
node tools/readme.js
tsc --project .
tsc --project test
eslint .
node --test --test-timeout=300000 --test-reporter=spec build/index.js
