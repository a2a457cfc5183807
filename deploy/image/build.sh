#!/usr/bin/env bash
# Builds an OCI image of a binary, without a container engine.
#
#     deploy/image/build.sh BINARY OUT_DIR
#
# The image is the layout OUT_DIR/reprise, with the version as its tag; its digest is the last line of the output. The
# same binary gives the same digest on every machine with the same libraries: the image has the time SOURCE_DATE_EPOCH, which
# is that of the last commit if it is not given. REVISION is the commit that the labels name. The layer is compressed with
# zstd, at IMAGE_ZSTD_LEVEL (19, which takes a minute). The script fails if the compressed image is larger than
# IMAGE_LIMIT_BYTES (15,000,000).
#
# The image has the binary, the shared libraries that it names, the authorities of Debian's package ca-certificates,
# the licences, and nothing else: no shell, no package manager. It runs as the user 65532.
# Needs umoci, skopeo, zstd, GNU tar and Python 3.11.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
binary=$(realpath "$1")
mkdir -p "$2"
layout=$(realpath "$2")/reprise
limit=${IMAGE_LIMIT_BYTES:-15000000}
user=65532

epoch=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
revision=${REVISION:-$(git -C "$here" rev-parse HEAD)}
created=$(date --utc --date "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
version=$("$binary" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
umask 022

install -D --mode 755 "$binary" "$root/usr/bin/reprise"
# The loader, and each library, at the path by which the loader finds it. libc resolves names without further libraries.
ldd "$binary" >"$work/libraries"
if grep 'not found' "$work/libraries" >&2; then
    exit 1
fi
grep -oE '/[^ ]+' "$work/libraries" | while read -r library; do
    install -D --mode 755 "$(realpath "$library")" "$root$library"
done
# From the package, not the list of this machine, which may have authorities of its own.
mkdir -p "$root/etc/ssl/certs"
find /usr/share/ca-certificates/mozilla -name '*.crt' -print0 | LC_ALL=C sort --zero-terminated |
    xargs --null cat >"$root/etc/ssl/certs/ca-certificates.crt"
[[ -s $root/etc/ssl/certs/ca-certificates.crt ]]
install -D --mode 644 --target-directory "$root/usr/share/licenses/reprise" "$here"/LICENSE-*
echo "reprise:x:$user:$user::/:/sbin/nologin" >"$root/etc/passwd"
echo "reprise:x:$user:" >"$root/etc/group"
echo "hosts: files dns" >"$root/etc/nsswitch.conf"

tar --create --file "$work/layer.tar" --directory "$root" --format gnu --sort name --numeric-owner --owner 0 --group 0 \
    --mtime "@$epoch" .

# Several threads give the same bytes as one.
zstd --quiet "-${IMAGE_ZSTD_LEVEL:-19}" --threads=0 "$work/layer.tar" -o "$work/layer.tar.zst"

rm -rf "$layout"
image=$layout:$version
umoci init --layout "$layout"
umoci new --image "$image"
umoci config --image "$image" --no-history --created "$created" --os linux --architecture "$architecture" \
    --config.user "$user:$user" --config.env PATH=/usr/bin --config.workingdir / \
    --config.env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    --config.entrypoint reprise --config.cmd serve --config.exposedports 8080/tcp --config.stopsignal SIGTERM \
    --config.label org.opencontainers.image.title=reprise \
    --config.label org.opencontainers.image.description="Stores the conversations of multi-agent workflows in MongoDB, and resumes them" \
    --config.label org.opencontainers.image.version="$version" \
    --config.label org.opencontainers.image.revision="$revision" \
    --config.label org.opencontainers.image.created="$created" \
    --config.label org.opencontainers.image.licenses="MIT OR Apache-2.0"
python3 "$here/deploy/image/add_layer.py" "$layout" "$work/layer.tar" "$work/layer.tar.zst" "$created"

bytes=$(find "$layout/blobs" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
echo "image $image: $bytes bytes"
if ((bytes > limit)); then
    echo "the image is larger than $limit bytes (IMAGE_LIMIT_BYTES)" >&2
    exit 1
fi
skopeo inspect --format '{{ .Digest }}' "oci:$image"
