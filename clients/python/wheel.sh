#!/usr/bin/env bash
# Builds the wheel, which has the client and the service, and tries it in an empty environment.
#
#     clients/python/wheel.sh [PROFILE]
#
# The wheel of the profile `dist`, the default, is small; that of `dev` is soon built where the tests are. Needs cargo and
# Python 3.11 with pip. The wheel is left in the target directory, below `wheels`.
set -euo pipefail
cd "$(dirname "$0")/../.."

profile=${1:-dist}
target=$(realpath "${CARGO_TARGET_DIR:-target}")
tools=$(realpath "$(tests/venv.sh wheel clients/python/requirements-wheel.txt)")
work=$(mktemp -d)
trap 'kill "$service" 2>/dev/null || true; wait "$service" 2>/dev/null || true; rm -rf "$work"' EXIT
service=

if [[ $profile == dev ]]; then
  # Maturin builds one package by itself, for which cargo takes other features of its dependencies, and everything would be
  # compiled again. This builds what the tests use, and gives maturin a copy, because it moves away what it packs.
  cat >"$work/cargo" <<'SHIM'
#!/usr/bin/env bash
set -euo pipefail
[[ ${1:-} == rustc ]] || exec cargo "$@"
cargo build --locked --workspace --bin reprise --examples --message-format json-render-diagnostics >"$WHEEL_COPY.json"
cp "$CARGO_TARGET_DIR/debug/reprise" "$WHEEL_COPY"
sed "s|\"$CARGO_TARGET_DIR/debug/reprise\"|\"$WHEEL_COPY\"|g" "$WHEEL_COPY.json"
SHIM
  chmod +x "$work/cargo"
  export CARGO=$work/cargo CARGO_TARGET_DIR=$target WHEEL_COPY=$work/reprise
fi
rm -rf "$target/wheels"
(cd clients/python && "$tools/bin/maturin" build --quiet --profile "$profile" --target-dir "$target" --out "$target/wheels")
wheel=$(echo "$target"/wheels/*.whl)
bytes=$(stat --format %s "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
# So that it does not grow unnoticed.
if [[ $profile == dist && $bytes -gt $((16 << 20)) ]]; then
  echo "the wheel is larger than 16 MiB" >&2
  exit 1
fi

# What a user does, without cargo on the path. A mongod that was downloaded before is used again.
export PATH=/usr/local/bin:/usr/bin:/bin NO_PROXY=127.0.0.1
python=$("$tools/bin/python" -c 'import sys; print(sys.base_prefix)')/bin/python3
start=$(date +%s%N)
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
mkfifo "$work/output"
"$work/venv/bin/reprise" serve --listen 127.0.0.1:0 --data-dir "$work/data" >"$work/output" 2>"$work/errors" &
service=$!
exec 3<"$work/output"
read -r said <&3 || { cat "$work/errors" >&2; exit 1; }
url=${said#listening on }
until curl --silent --fail --output /dev/null "$url/api/health/ready"; do
  kill -0 "$service" || { cat "$work/errors" >&2; exit 1; }
  sleep 0.1
done
echo "ready $((($(date +%s%N) - start) / 1000000)) ms after the environment was made"
"$work/venv/bin/python" - "$url" <<'PYTHON'
import sys

from reprise import Reprise

with Reprise(sys.argv[1], "acme_corp") as reprise:
    chat = reprise.create_chat("Picnic")
    chat.append({"role": "user", "name": "user", "content": "Hello"})
    [message] = chat.history("openai").messages
    assert message["content"] == "Hello", message
PYTHON
echo "the client and the service of the wheel work together"
