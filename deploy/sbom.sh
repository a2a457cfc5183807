#!/usr/bin/env bash
# Writes the bill of materials of the binary: CycloneDX 1.6, in JSON.
#
#     deploy/sbom.sh [--target TRIPLE] > reprise.cdx.json
#
# Needs cargo and Python 3.11 with pip; installs the library of CycloneDX below the target directory, once.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "$(tests/venv.sh sbom deploy/sbom-requirements.txt)/bin/python" deploy/sbom.py "$@"
