#!/usr/bin/env bash
# Runs an image without a container engine, against a real MongoDB: its files, its user, its entrypoint and its command.
#
#     deploy/check/run-image.sh BINARY IMAGE CONFIG
#
# BINARY starts the MongoDB, with its private mongod. IMAGE is LAYOUT:TAG. The service of the image gets the settings of CONFIG,
# as in a pod, and the rest as variables. Then: it becomes ready, refuses a call without a token, stores a chat with one, shows
# its metrics to the key of an operator, and stops on the signal of the image. Needs root, for chroot.
set -euo pipefail
binary=$(realpath "$1") image=$2 config=$3

work=$(mktemp -d)
database='' service=''
stop() {
    local pid
    for pid in $service $database; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap stop EXIT
export NO_PROXY=127.0.0.1

# wait_for URL PID LOG: until the URL answers with a success.
wait_for() {
    local attempt
    for ((attempt = 0; attempt < 600; attempt++)); do
        curl --silent --fail --output /dev/null "$1" && return
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "no success from $1" >&2
    tail -20 "$3" >&2
    return 1
}
# address LOG PID: where the service listens, as soon as it says so.
address() {
    local said=''
    while kill -0 "$2" 2>/dev/null; do
        said=$(grep -oEm1 'http://127\.0\.0\.1:[0-9]+' "$1" || true)
        [[ -z $said ]] || { echo "$said"; return; }
        sleep 0.05
    done
    tail -20 "$1" >&2
    return 1
}

touch "$work/database" "$work/service"
"$binary" serve --listen 127.0.0.1:0 --data-dir "$work/data" >"$work/database" 2>&1 &
database=$!

# umoci cannot read zstd.
skopeo copy --quiet --dest-compress --dest-compress-format gzip --dest-compress-level 1 "oci:$image" "oci:$work/layout:image"
umoci unpack --image "$work/layout:image" "$work/bundle" 2>"$work/unpack" || { cat "$work/unpack" >&2; exit 1; }
root=$work/bundle/rootfs
skopeo inspect --config "oci:$image" >"$work/image.json"
# of_image KEY: the strings of a field of the configuration, each on a line.
of_image() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))["config"][sys.argv[2]]
print(*([value] if isinstance(value, str) else value), sep="\n")' "$work/image.json" "$1"
}
user=$(of_image User) signal=$(of_image StopSignal)
[[ $user =~ ^[1-9][0-9]*:[1-9][0-9]*$ ]] || { echo "the user of the image is $user, not a number other than 0" >&2; exit 1; }
readarray -t entrypoint < <(of_image Entrypoint)
readarray -t command < <(of_image Cmd)
readarray -t environment < <(of_image Env)
# A pod gives it these. The root and all files belong to root, so the service cannot write anywhere.
install -D --mode 644 "$config" "$root/etc/reprise/reprise.toml"
secret=$(head -c 32 /dev/urandom | base64)
chroot=$(command -v chroot)

# inside ARGUMENT...: becomes the entrypoint with these arguments, with the variables of the image and of a pod.
inside() {
    cd /
    exec env --ignore-environment "${environment[@]}" REPRISE__MONGO__URI="$uri" REPRISE__AUTH__SECRET="$secret" \
        REPRISE__SERVER__LISTEN=127.0.0.1:0 REPRISE__SERVER__DRAIN_MS=1000 \
        "$chroot" --userspec="$user" "$root" "${entrypoint[@]}" "$@"
}

# The first service only owns the mongod.
wait_for "$(address "$work/database" "$database")/api/health/ready" "$database" "$work/database"
uri=$(sed -n 's/^uri //p' "$work/data/local-mongod.lock")
uri=${uri/mongodb:\/\//mongodb:\/\/reprise:$(sed -n 's/^password //p' "$work/data/credentials")@}

(inside --version)
(inside "${command[@]}" --config /etc/reprise/reprise.toml) >"$work/service" 2>&1 &
service=$!
url=$(address "$work/service" "$service")
wait_for "$url/api/health/ready" "$service" "$work/service"
echo "ready: $(curl --silent "$url/api/health/ready")"

# expect STATUS CURL_ARGUMENT...
expect() {
    local status
    status=$(curl --silent --output "$work/answer" --write-out '%{http_code}' "${@:2}")
    [[ $status == "$1" ]] || { echo "status $status, not $1: ${*: -1}: $(cat "$work/answer")" >&2; exit 1; }
}
chat=(--header 'content-type: application/json' --data '{"chat_id": "packaged", "workflow_name": "Packaging"}')
token=$(inside tokens mint --config /etc/reprise/reprise.toml --user packaging --role service --app packaging)
key=$(inside keys create --config /etc/reprise/reprise.toml --role operator --user prometheus --app metrics 2>/dev/null)
expect 401 "${chat[@]}" "$url/api/chats/packaging"
expect 201 "${chat[@]}" --header "authorization: Bearer $token" "$url/api/chats/packaging"
expect 401 "$url/metrics"
expect 200 --header "authorization: Bearer $key" "$url/metrics"
[[ $(ps -o uid= -p "$service" | tr -d ' ') == "${user%%:*}" ]] || { echo "the service does not run as $user" >&2; exit 1; }

kill -s "$signal" "$service"
sleep 0.3
expect 503 "$url/api/health/ready"
status=0
wait "$service" || status=$?
service=''
[[ $status == 0 ]] || { echo "the service ended with $status" >&2; tail -20 "$work/service" >&2; exit 1; }
echo "the image runs as $user, and stops on $signal"
