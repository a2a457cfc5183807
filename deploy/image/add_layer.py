"""Adds a layer, compressed with zstd, to the only image of an OCI layout, and removes what the image no longer refers to.

    add_layer.py LAYOUT LAYER_TAR LAYER_TAR_ZSTD CREATED

umoci would compress the layer with gzip: for a binary that is larger by a quarter.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

layout, layer, compressed, created = Path(sys.argv[1]), *sys.argv[2:]
blobs = layout / "blobs/sha256"


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(descriptor):
    return json.loads((blobs / descriptor["digest"].removeprefix("sha256:")).read_text())


def write(document):
    """Stores a document as a blob, and returns what refers to it."""
    text = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    digest = hashlib.sha256(text).hexdigest()
    (blobs / digest).write_bytes(text)
    return {"digest": f"sha256:{digest}", "size": len(text)}


index = json.loads((layout / "index.json").read_text())
(entry,) = index["manifests"]
manifest = read(entry)
config = read(manifest["config"])

config["rootfs"]["diff_ids"] = [f"sha256:{digest_of(layer)}"]
config["history"] = [{"created": created, "created_by": "deploy/image/build.sh"}]
digest = digest_of(compressed)
shutil.copyfile(compressed, blobs / digest)
manifest["layers"] = [
    {
        "mediaType": "application/vnd.oci.image.layer.v1.tar+zstd",
        "digest": f"sha256:{digest}",
        "size": Path(compressed).stat().st_size,
    }
]
manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
manifest["config"] |= write(config)
entry |= write(manifest)
(layout / "index.json").write_text(json.dumps(index))

kept = {descriptor["digest"] for descriptor in (entry, manifest["config"], *manifest["layers"])}
for blob in blobs.iterdir():
    if f"sha256:{blob.name}" not in kept:
        blob.unlink()
