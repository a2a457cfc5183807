#!/usr/bin/env bash
# Makes `models.py` from the description of the API.
#
#     tools/models.sh OPENAPI_JSON OUTPUT
set -euo pipefail
datamodel-codegen --input "$1" --input-file-type openapi --output "$2" --output-model-type pydantic_v2.BaseModel \
  --target-python-version 3.10 --use-standard-collections --use-union-operator --use-schema-description \
  --use-field-description --collapse-root-models --disable-timestamp --use-subclass-enum --extra-fields allow \
  --use-double-quotes --use-annotated --custom-file-header '# Made by tools/models.sh from the description of the API.' \
  --formatters ruff-format
