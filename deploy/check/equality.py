"""What the chart and the base of kustomize have in common: everything but labels of Helm, and names of ConfigMaps."""

import copy
import re
import tomllib

# Only the chart sets these labels and this annotation. Kustomize changes the name of the ConfigMap instead of the annotation.
OF_HELM = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "checksum/config",
    "helm.sh/chart",
}


def differences(base, chart):
    """The places at which two installations differ."""
    left, right = ({key_of(document): normal(document) for document in documents} for documents in (base, chart))
    for key in sorted(left.keys() | right.keys()):
        if key not in left or key not in right:
            yield f"only {'the chart' if key in right else 'the base'} has {key}"
        else:
            yield from between(left[key], right[key], key)


def key_of(document):
    return f"{document['kind']}/{without_hash(document['metadata']['name'])}"


def without_hash(name):
    return re.sub(r"^(reprise)-[a-z0-9]{10}$", r"\1", name)


def normal(document):
    document = without_helm(copy.deepcopy(document))
    document["metadata"]["name"] = without_hash(document["metadata"]["name"])
    if document["kind"] == "ConfigMap":
        document["data"] = {name: tomllib.loads(text) for name, text in document["data"].items()}
    if document["kind"] == "Deployment":
        for volume in document["spec"]["template"]["spec"]["volumes"]:
            volume["configMap"]["name"] = without_hash(volume["configMap"]["name"])
    return document


def without_helm(value):
    if isinstance(value, list):
        return [without_helm(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_helm(inner) for key, inner in value.items() if key not in OF_HELM}
    # What was there for Helm only.
    return {key: inner for key, inner in kept.items() if not (key == "annotations" and inner == {})}


def between(left, right, place):
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from between(left.get(key), right.get(key), f"{place}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right)):
            yield from between(one, other, f"{place}[{index}]")
    elif left != right:
        yield f"{place} is {left!r} in the base and {right!r} in the chart"
