#!/usr/bin/env bash
# Looks at the dashboard with a real browser, against services of its own.
#
# Needs cargo, and Node.js 20 or newer with npm. Debian's Chromium is installed where it is missing, and
# CHROMIUM names another; what comes from npm is installed beside the tests, as the lock file says.
# Screenshots of every view are left in target/screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium >/dev/null; then
  echo "installing chromium"
  apt-get update -qq
  # The font is for what the screenshots show.
  DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends chromium fonts-noto-color-emoji >/dev/null
fi
# Named here, because an older one fails without a word that says why.
node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || {
  echo "Node.js 20 or newer is needed; this is $(node --version)" >&2
  exit 1
}

wanted=tests/browser/package-lock.json
if ! cmp --silent "$wanted" tests/browser/node_modules/installed.json; then
  npm --prefix tests/browser ci --silent --no-audit --no-fund
  cp "$wanted" tests/browser/node_modules/installed.json
fi

# As the tests of the workspace build it, so that nothing is built twice.
cargo build --quiet --locked --workspace --bin reprise
REPRISE_BINARY=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/reprise
export REPRISE_BINARY
cd tests/browser
# One after the other: each starts a service, a mongod and a browser.
exec node --test --test-concurrency=1 --test-reporter=spec ./*.test.js
