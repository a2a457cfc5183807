#!/usr/bin/env bash
# Tests the dashboard with a real browser, against its own services.
#
# Needs cargo, and Node.js 20 or newer with npm. Installs Debian's Chromium if it is missing; CHROMIUM names
# another one. Installs the npm packages of the lock file beside the tests. Leaves screenshots of every view in
# target/screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/chromium.sh
tests/npm.sh tests/browser
REPRISE_BINARY=$(tests/build.sh reprise)/reprise
export REPRISE_BINARY
cd tests/browser
# In sequence: each starts a service, a mongod and a browser.
exec node --test --test-concurrency=1 --test-reporter=spec ./*.test.js
