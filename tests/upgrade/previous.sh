#!/usr/bin/env bash
# Builds the binary of the previous release, and prints its path.
#
#     tests/upgrade/previous.sh             builds it, unless it is there already
#     tests/upgrade/previous.sh --commit    only prints its commit
#
# The previous release is the newest tag v* among the ancestors of HEAD, HEAD excluded. Without such a tag, it is the commit in the
# file PREVIOUS. The binary is built in a directory of its own, with the dependencies and features of the tests, so that nothing is
# compiled twice but the crates of this workspace. Exits with 3 if this clone does not have the commit.
set -euo pipefail
cd "$(dirname "$0")/../.."

# find_commit: prints the commit of the previous release, and says on standard error how it was found.
find_commit() {
    local head tag commit
    head=$(git rev-parse HEAD)
    while read -r tag; do
        commit=$(git rev-parse --verify "$tag^{commit}")
        [[ $commit != "$head" ]] || continue
        echo "the previous release: $tag" >&2
        echo "$commit"
        return
    done < <(git tag --list 'v*' --merged HEAD --sort=-version:refname)
    commit=$(<tests/upgrade/PREVIOUS)
    if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo "this clone has no tag v* before HEAD, and not the commit $commit: fetch the whole history and the tags" >&2
        exit 3
    fi
    echo "the previous release: ${commit:0:12}, because no commit before HEAD has a tag v*" >&2
    echo "$commit"
}

commit=$(find_commit)
if [[ ${1:-} == --commit ]]; then
    echo "$commit"
    exit
fi

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/previous"
target=$(realpath "$target")
binary=$target/previous/reprise
if [[ -x $binary && -f $binary.commit && $(<"$binary.commit") == "$commit" ]]; then
    echo "$binary"
    exit
fi

# Prints the crates of this repository, as files are named after them.
own_crates() {
    cargo metadata --locked --no-deps --format-version 1 |
        python3 -c 'import json, sys
packages = json.load(sys.stdin)["packages"]
names = {it["name"] for it in packages} | {target["name"] for it in packages for target in it["targets"]} | {"it", "tests"}
print(*sorted(names | {name.replace("-", "_") for name in names} | {name.replace("_", "-") for name in names}), sep="\n")'
}

# Copies what the dependencies were built to. In a directory of its own, because cargo takes the crates of two checkouts for the
# same ones, and decides by the times of their files which of them is built.
seed() {
    local from=$1 to=$2 part name
    mkdir -p "$to"
    for part in .fingerprint build deps; do
        mkdir -p "$to/$part"
        (cd "$from/$part" && find . -maxdepth 1 -mindepth 1 -printf '%f\n') |
            sed -E 's/^(lib)?(.*)-[0-9a-f]{16}(\..*)?$/\2\t&/' |
            awk -F '\t' 'NR == FNR { own[$1]; next } NF == 2 && !($1 in own) { print $2 }' <(own_crates) - |
            (cd "$from/$part" && xargs -r -d '\n' cp -a -t "$to/$part")
    done
}

source=$target/previous/source
clean_up() {
    git worktree remove --force "$source" 2>/dev/null || rm -rf "$source"
    git worktree prune
}
trap clean_up EXIT
clean_up
rm -f "$binary.commit"
git worktree add --quiet --detach "$source" "$commit"
own=$target/previous/target
rm -rf "$own"
[[ ! -d $target/debug/deps ]] || seed "$target/debug" "$own/debug"
built=$(CARGO_TARGET_DIR=$own "$source/tests/build.sh" reprise)
cp "$built/reprise" "$binary.new"
mv "$binary.new" "$binary"
rm -rf "$own"
echo "$commit" >"$binary.commit"
echo "$binary"
