#!/usr/bin/env bash
# Builds the binary that is packaged: the same bytes for the same commit and the same Rust, whichever directory it is built in.
#
#     deploy/dist.sh             prints the path of the binary, and its SHA-256
#     deploy/dist.sh --check     builds two clean clones of the commit that is checked out, in two directories, and compares them
#
# The compiler writes the paths of sources into the binary, for the messages of panics. They are replaced.
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
    local source=$PWD target=${CARGO_TARGET_DIR:-$PWD/target} cargo_home=${CARGO_HOME:-$HOME/.cargo}
    mkdir -p "$target"
    # The last one that fits counts.
    RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$source=/reprise --remap-path-prefix=$(realpath "$target")=/target" \
        cargo build --profile dist --locked --package reprise-cli --bin reprise
    sha256sum "$target/dist/reprise"
}

case ${1:-} in
"") build ;;
--check)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    for clone in one another/place; do
        git clone --quiet . "$work/$clone"
        (cd "$work/$clone" && unset CARGO_TARGET_DIR && build >"$work/${clone%%/*}.sum")
        cat "$work/${clone%%/*}.sum"
        # Two builds at a time would need much disk.
        mv "$work/$clone/target/dist/reprise" "$work/${clone%%/*}.binary"
        rm -rf "${work:?}/$clone"
    done
    cmp "$work/one.binary" "$work/another.binary"
    ! grep --quiet --binary-files=text --fixed-strings -e "$work" -e "${CARGO_HOME:-$HOME/.cargo}" "$work/one.binary" || {
        echo "the binary names the directories that it was built in" >&2
        exit 1
    }
    echo "both are the same, $(stat --format=%s "$work/one.binary") bytes"
    ;;
*)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac
