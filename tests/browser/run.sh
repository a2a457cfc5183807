#!/usr/bin/env bash
# Tests the dashboard with a real browser, against its own services.
#
# Needs cargo, and Node.js 20 or newer with npm. Installs Debian's Chromium if it is missing; CHROMIUM names
# another one. Installs the npm packages of the lock file beside the tests. Leaves screenshots of every view in
# target/screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium >/dev/null; then
  echo "installing chromium"
  apt-get update -qq
  # The font is for the screenshots.
  DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends chromium fonts-noto-color-emoji >/dev/null
fi
# Checked here, because an older version fails without an explanation.
node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || {
  echo "Node.js 20 or newer is needed; this is $(node --version)" >&2
  exit 1
}

wanted=tests/browser/package-lock.json
if ! cmp --silent "$wanted" tests/browser/node_modules/installed.json; then
  npm --prefix tests/browser ci --silent --no-audit --no-fund
  cp "$wanted" tests/browser/node_modules/installed.json
fi

REPRISE_BINARY=$(tests/build.sh reprise)/reprise
export REPRISE_BINARY
cd tests/browser
# In sequence: each starts a service, a mongod and a browser.
exec node --test --test-concurrency=1 --test-reporter=spec ./*.test.js
