#!/usr/bin/env bash
# Builds the site: this book, the documents beside it, the decisions and the reference of the API.
#
#     docs/book/build.sh OUT_DIR
#
# Needs Python 3.11 with pip, and Node.js 20 or newer with npm. Installs mdBook below the target directory, and the script that draws
# diagrams beside its lock file, once. OUT_DIR is replaced. A link to a page, a file or a heading that is not there ends the build.
set -euo pipefail
out=$(realpath -m "${1:?usage: docs/book/build.sh OUT_DIR}")
cd "$(dirname "$0")/../.."

mdbook=$(realpath "$(tests/venv.sh book docs/book/requirements.txt)/bin/mdbook")
tests/npm.sh docs/book
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r docs/book/book.toml docs/book/theme "$work"
cp crates/service/src/dashboard/page/icon.svg "$work/theme/favicon.svg"
python3 docs/book/tools/lay_out.py "$work/src"
install -D --mode 644 --target-directory "$work/src/diagrams" docs/book/node_modules/@mermaid-js/tiny/{dist/mermaid.tiny.js,LICENSE}
"$mdbook" build "$work" --dest-dir "$work/site" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
# mdBook goes on after a page that could not be included.
if grep -E 'WARN|ERROR' "$work/log" >&2; then exit 1; fi
python3 docs/book/tools/check_links.py "$work/site"
rm -rf "$out"
cp -r "$work/site" "$out"
