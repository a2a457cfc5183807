"""What the schemas of others say: of Kubernetes, of the values of the chart, and of compose files."""

import functools
import json
import re
import subprocess
import tempfile

import compose_spec
import jsonschema
import kubernetes_validate
import kubernetes_validate.utils
import yaml

# The oldest that the chart accepts, the newest that the schemas know, and two between.
VERSIONS = ("1.27", "1.30", "1.34", "1.37")

# The schemas are large, and are needed for each document.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)


def of_kubernetes(documents, versions=VERSIONS):
    for document in documents:
        # A resource of the Prometheus operator: rules.scraping looks at it.
        if document["kind"] == "ServiceMonitor":
            continue
        for version in versions:
            name = f"{document['kind']} in Kubernetes {version}"
            try:
                used = kubernetes_validate.validate(document, version, strict=True)
                if used != version:
                    yield f"{name}: there are no schemas of this version, only of {used}"
            except kubernetes_validate.ValidationError as error:
                yield f"{name}: {error.message} at {'.'.join(map(str, error.path))}"
            except kubernetes_validate.SchemaNotFoundError as error:
                yield f"{name}: {error.message}"


def merged(values, given):
    """The values with those given, as Helm merges them."""
    if not (isinstance(values, dict) and isinstance(given, dict)):
        return given
    both = {key: merged(values[key], given[key]) for key in values.keys() & given.keys()}
    return values | given | both


def of_values(schema, values):
    jsonschema.Draft7Validator.check_schema(schema)
    for error in jsonschema.Draft7Validator(schema).iter_errors(values):
        yield f"values: {error.message} at {error.json_path}"


def undescribed(schema, values, place="$"):
    """The values that the schema accepts only because it does not look at them."""
    for key, value in values.items():
        if key not in schema.get("properties", {}):
            yield f"values: the schema does not describe {place}.{key}"
        elif isinstance(value, dict) and "properties" in schema["properties"][key]:
            yield from undescribed(schema["properties"][key], value, f"{place}.{key}")


def of_compose(text):
    # Variables have their defaults; all have one.
    text = re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)
    try:
        compose_spec.PyCompose.from_yaml(text).validate()
    except ValueError as error:
        yield f"compose: {error}"
        return
    file = yaml.safe_load(text)
    service, database = file["services"]["reprise"], file["services"]["mongo"]
    if "ports" in database or not file["networks"]["database"].get("internal"):
        yield "compose: the database without a password can be reached from outside"
    if database["networks"] != ["database"]:
        yield "compose: the database is in a network besides its own"
    if service["depends_on"]["mongo"]["condition"] != "service_healthy" or "healthcheck" not in database:
        yield "compose: the service does not wait for the replica set"
    if not all(port.startswith("127.0.0.1:") for port in service["ports"]):
        yield "compose: the service is published to other machines"
    if service["environment"].get("REPRISE__AUTH__MODE") != "jwt":
        yield "compose: the service refuses to listen without authentication"
    if any("SECRET" in name for name in service["environment"]):
        yield "compose: a secret is in the file"


def of_service(binary, documents):
    """What the service says about the settings of a ConfigMap: it refuses unknown keys and other types."""
    for document in documents:
        if document["kind"] == "ConfigMap":
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(document["data"]["reprise.toml"])
                file.flush()
                said = subprocess.run([binary, "config", "--config", file.name], capture_output=True, text=True, check=False)
            if said.returncode != 0:
                yield f"the settings: {said.stderr.strip()}"


def read(path):
    return json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())
