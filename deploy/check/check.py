"""Checks rendered manifests, the values of the chart and the compose file; then, that each check can fail.

    check.py BINARY DIRECTORY

The directory has base.yaml, example.yaml and components.yaml of kustomize, and default.yaml and everything.yaml of the chart.
"""

import sys
from pathlib import Path

import yaml

import equality
import planted
import rules
import schemas

DEPLOY = rules.PROJECT / "deploy"
CHART = DEPLOY / "helm/reprise"


def main():
    binary, directory = sys.argv[1:]
    rendered = {
        name: [document for document in yaml.safe_load_all((Path(directory) / f"{name}.yaml").read_text()) if document]
        for name in ("base", "example", "components", "default", "everything")
    }
    values = schemas.read(CHART / "values.yaml")
    schema = schemas.read(CHART / "values.schema.json")
    everything = schemas.merged(values, schemas.read(DEPLOY / "check/everything.yaml"))
    compose = (DEPLOY / "compose.yaml").read_text()
    unit = (DEPLOY / "systemd/reprise.service").read_text()
    texts = {path: (DEPLOY / path).read_text() for path in rules.NAME_THE_VERSION}

    found = []
    for name, documents in rendered.items():
        found += [f"{name}: {finding}" for finding in findings(binary, documents)]
        print(f"{name}: {len(documents)} documents, strictly against Kubernetes {', '.join(schemas.VERSIONS)}")
    found += equality.differences(rendered["base"], rendered["default"])
    found += schemas.of_values(schema, values)
    found += schemas.of_values(schema, everything)
    found += schemas.undescribed(schema, everything)
    found += unused(values, everything)
    found += schemas.of_compose(compose)
    found += rules.of_versions(texts)
    found += rules.of_unit(unit)

    caught, missed = planted.outcomes(binary, rendered, schema, values, compose, unit, texts)
    found += missed
    print(f"planted mistakes that were found: {caught}")
    for finding in found:
        print(finding, file=sys.stderr)
    sys.exit(1 if found else 0)


def findings(binary, documents):
    yield from schemas.of_kubernetes(documents)
    yield from rules.findings(documents)
    yield from schemas.of_service(binary, documents)


def unused(values, everything, place="values"):
    """The values that everything.yaml leaves as they are, so that nothing renders what they are for."""
    as_by_default = {
        "values.image.tag",  # A digest is given.
        "values.networkPolicy.enabled",
        "values.networkPolicy.extraEgress",
        "values.podDisruptionBudget.enabled",
        "values.serviceAccount.create",
        "values.serviceMonitor.scrapeTimeout",
        "values.serviceMonitor.tokenSecret.key",
        "values.autoscaling.minReplicas",
        "values.autoscaling.targetCPUUtilizationPercentage",
        "values.autoscaling.scaleDownStabilizationSeconds",
    }
    for key, value in values.items():
        here = f"{place}.{key}"
        if isinstance(value, dict) and value:
            yield from unused(value, everything[key], here)
        elif value == everything[key] and here not in as_by_default:
            yield f"everything.yaml does not turn {here} on"


main()
