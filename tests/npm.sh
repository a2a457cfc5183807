#!/usr/bin/env bash
# Installs the npm packages of lock files, each beside its lock file, once.
#
#     tests/npm.sh DIRECTORY...
#
# Needs Node.js 20 or newer with npm.
set -euo pipefail

# Checked here, because an older version fails without an explanation.
node --eval 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || {
  echo "Node.js 20 or newer is needed; this is $(node --version)" >&2
  exit 1
}
for directory in "$@"; do
  installed=$directory/node_modules/installed.json
  if ! cmp --silent "$directory/package-lock.json" "$installed"; then
    npm --prefix "$directory" ci --silent --no-audit --no-fund --ignore-scripts
    cp "$directory/package-lock.json" "$installed"
  fi
done
