"""Writes the bill of materials of the binary, in CycloneDX 1.6: every crate that is in it, with licence, digest and dependencies.

    sbom.py [--target TRIPLE] > reprise.cdx.json

Reads Cargo.lock by `cargo metadata`, which must be possible without changes. The same lock gives the same text.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = "reprise-cli"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--target", default="x86_64-unknown-linux-gnu")
    text = of(arguments.parse_args().target)
    print(text)


def of(target):
    metadata = json.loads(
        subprocess.check_output(
            ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target], cwd=PROJECT
        )
    )
    lock = tomllib.loads((PROJECT / "Cargo.lock").read_text())
    digests = {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}
    packages = {it["id"]: it for it in metadata["packages"]}
    # Only what is compiled into the binary: no crates of tests, and none that run while it is built.
    linked = {
        node["id"]: [
            it["pkg"] for it in node["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    root = next(it["id"] for it in metadata["packages"] if it["name"] == PACKAGE)
    named = crates_of_binary(target)
    wanted = {it for it in packages if (packages[it]["name"], packages[it]["version"]) in named}
    components = {it: component(packages[it], digests) for it in wanted}
    bom = Bom(serial_number=None)
    bom.metadata.component = components[root]
    bom.metadata.component.type = ComponentType.APPLICATION
    for package, written in components.items():
        if package != root:
            bom.components.add(written)
        bom.register_dependency(written, [components[it] for it in linked[package] if it in wanted])
    whole = json.loads(JsonV1Dot6(bom).output_as_string())
    # They differ each time.
    del whole["serialNumber"], whole["metadata"]["timestamp"]
    text = json.dumps(whole, indent=1)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"not CycloneDX 1.6: {error}")
    return text


def crates_of_binary(target):
    """The crates that the binary needs with its own features: the metadata have those of the whole workspace."""
    tree = ["cargo", "tree", "--locked", "--package", PACKAGE, "--edges", "normal", "--target", target, "--prefix", "none"]
    lines = subprocess.check_output([*tree, "--format", "{p}"], cwd=PROJECT, text=True).splitlines()
    return {(name, version.removeprefix("v")) for name, version, *_ in (line.split(" ") for line in lines if line)}


def component(package, digests):
    name, version = package["name"], package["version"]
    digest = digests[name, version]
    licence = package["license"]
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version,
        bom_ref=f"{name}@{version}",
        purl=PackageURL("cargo", None, name, version),
        licenses=[LicenseFactory().make_from_string(licence.replace("/", " OR "))] if licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else [],
    )


if __name__ == "__main__":
    main()
