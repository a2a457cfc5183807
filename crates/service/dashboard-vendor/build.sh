#!/usr/bin/env bash
# Bundles the libraries of the dashboard into src/dashboard/page/vendor, one file for each entry.
#
# `--check` proves instead that the files there are what the lock file gives. Needs Node.js 20 or newer with npm.
set -euo pipefail
cd "$(dirname "$0")"

../../../tests/npm.sh .

target=../src/dashboard/page/vendor
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# bundle NAME PACKAGE... : makes NAME.js, which begins with the licences of its packages.
bundle() {
  local name=$1
  shift
  {
    echo "/* Made by crates/service/dashboard-vendor/build.sh: do not edit."
    node licences.js "$@"
    echo "*/"
    npx --no-install esbuild "$name.entry.js" --bundle --minify --format=esm --target=es2022 \
      --charset=utf8 --legal-comments=none --log-level=warning
  } > "$built/$name.js"
}

bundle markdown dompurify markdown-it entities linkify-it mdurl punycode.js uc.micro
bundle diff diff

if [[ ${1:-} == --check ]]; then
  diff --brief --recursive "$built" "$target" || {
    echo "the vendored files differ from what the lock file gives: run build.sh" >&2
    exit 1
  }
else
  mkdir -p "$target"
  cp "$built"/*.js "$target"
fi
