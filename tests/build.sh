#!/usr/bin/env bash
# Builds binaries, and prints the path of their directory.
#
#     tests/build.sh BINARY...
#
# As `cargo test --workspace` builds them, or dependencies would be built again: of the whole workspace, and with the
# features of the tests, which `--examples` selects.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck disable=SC2046
cargo build --quiet --locked --workspace $(printf -- '--bin %s ' "$@") --examples
realpath "${CARGO_TARGET_DIR:-target}/debug"
