"""The rules that the manifests of Kubernetes keep and that no schema knows. Every function yields what is wrong."""

import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

PROJECT = Path(__file__).resolve().parents[2]
DEFAULTS = tomllib.loads((PROJECT / "deploy/config.default.toml").read_text())
OPERATIONS = (PROJECT / "crates/service/src/operations.rs").read_text()
VERSION = tomllib.loads((PROJECT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# Files that name the version of the service, and how.
NAME_THE_VERSION = {
    "compose.yaml": "reprise:{}",
    "helm/reprise/Chart.yaml": "appVersion: {}\n",
    "kubernetes/base/kustomization.yaml": "newTag: {}\n",
    "kubernetes/overlays/example/kustomization.yaml": "newTag: {}\n",
}
# The longest that the private mongod may take to stop.
MONGOD_STOP_SECONDS = 30
# What the names of requests and limits of memory end with.
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def findings(documents):
    """What is wrong with the documents of one installation."""
    for rule in (pods, probes, security, settings, selectors, references, files, tls, egress, secrets, scraping):
        yield from rule(documents)


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def deployment_of(documents):
    (deployment,) = of_kind(documents, "Deployment")
    return deployment


def pod_of(documents):
    return deployment_of(documents)["spec"]["template"]["spec"]


def container_of(documents):
    (container,) = pod_of(documents)["containers"]
    return container


def mounts_of(documents):
    return container_of(documents).get("volumeMounts", [])


def variables_of(documents):
    """The variables whose values are in the manifests."""
    return {variable["name"]: variable["value"] for variable in container_of(documents).get("env", []) if "value" in variable}


def is_route(path):
    return re.search(rf'GET +"{re.escape(path)}" =>', OPERATIONS) is not None


def settings_of(documents):
    """The settings of a pod, as far as they decide how it is run: the defaults, with those of the ConfigMap."""
    (config,) = of_kind(documents, "ConfigMap")
    given = tomllib.loads(config["data"]["reprise.toml"])
    return {section: keys | given.get(section, {}) for section, keys in DEFAULTS.items()}


def bytes_of(quantity):
    number, unit = re.fullmatch(r"(\d+)(\w*)", str(quantity)).groups()
    return int(number) * UNITS.get(unit, 1)


def pods(documents):
    deployment = deployment_of(documents)
    fewest = deployment["spec"].get("replicas")
    for scaler in of_kind(documents, "HorizontalPodAutoscaler"):
        if fewest is not None:
            yield "the Deployment states replicas although it is scaled"
        fewest = scaler["spec"]["minReplicas"]
        if scaler["spec"]["scaleTargetRef"]["name"] != deployment["metadata"]["name"]:
            yield "the HorizontalPodAutoscaler scales another Deployment"
    if (fewest or 1) < 2:
        yield "there may be a single pod"
    budgets = of_kind(documents, "PodDisruptionBudget")
    if not budgets:
        yield "there is no PodDisruptionBudget"
    for budget in budgets:
        most = budget["spec"].get("maxUnavailable", 1)
        if isinstance(most, int) and most >= (fewest or 1):
            yield "the PodDisruptionBudget permits that all pods are removed"
    resources = container_of(documents).get("resources", {})
    if not {"cpu", "memory"} <= resources.get("requests", {}).keys():
        yield "there are no requests of CPU and memory"
    memory = resources.get("limits", {}).get("memory")
    if memory is None or bytes_of(memory) < settings_of(documents)["limits"]["memory_bytes"] * 3 // 2:
        yield "the limit of memory is missing, or too near limits.memory_bytes"
    image = container_of(documents)["image"]
    if not re.search(r"(:[^:/]+|@sha256:[0-9a-f]{64})$", image) or image.endswith(":latest"):
        yield f"the image {image} has no version"


def probes(documents):
    container = container_of(documents)
    wanted = {
        "startupProbe": "/api/health/live",
        "livenessProbe": "/api/health/live",
        "readinessProbe": "/api/health/ready",
    }
    for probe, path in wanted.items():
        get = container.get(probe, {}).get("httpGet", {})
        if get.get("path") != path or not is_route(path):
            yield f"{probe} does not ask {path}"
        if get.get("port") not in [port["name"] for port in container["ports"]]:
            yield f"{probe} asks a port that the container does not name"
    if "lifecycle" in container:
        yield "a hook needs a shell, which the image does not have"


def security(documents):
    """The profile "restricted" of the pod security standards, and a file system that cannot be written."""
    pod, container = pod_of(documents), container_of(documents)
    of_pod, of_container = pod.get("securityContext", {}), container.get("securityContext", {})
    if of_pod.get("runAsNonRoot") is not True or of_pod.get("runAsUser", 0) == 0 or "runAsUser" in of_container:
        yield "the pod may run as root"
    if of_pod.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "the profile of seccomp is not RuntimeDefault"
    if of_container.get("allowPrivilegeEscalation") is not False or "privileged" in of_container:
        yield "the container may gain privileges"
    if of_container.get("capabilities") != {"drop": ["ALL"]}:
        yield "the container keeps capabilities"
    if of_container.get("readOnlyRootFilesystem") is not True:
        yield "the container may write to its file system"
    if pod.get("automountServiceAccountToken") is not False:
        yield "the pod gets a token for the API of the cluster"
    if {"hostNetwork", "hostPID", "hostIPC"} & pod.keys() or any("hostPath" in volume for volume in pod["volumes"]):
        yield "the pod reaches into its node"


def settings(documents):
    now, container = settings_of(documents), container_of(documents)
    address, _, port = now["server"]["listen"].rpartition(":")
    if address != "0.0.0.0" or int(port) not in [port["containerPort"] for port in container["ports"]]:
        yield f"the service listens on {now['server']['listen']}, not on the port of the container"
    if now["auth"]["mode"] != "jwt":
        yield "the service asks for no tokens"
    readiness = container.get("readinessProbe", {})
    noticed = readiness.get("periodSeconds", 10) * readiness.get("failureThreshold", 3)
    if now["server"]["drain_ms"] <= 1000 * noticed:
        yield f"server.drain_ms is over before the probe has noticed, after {noticed} s"
    longest = now["server"]["drain_ms"] + 2 * now["limits"]["shutdown_grace_ms"]
    if pod_of(documents).get("terminationGracePeriodSeconds", 30) * 1000 <= longest:
        yield f"terminationGracePeriodSeconds is not longer than a stop may last, {longest} ms"


def selectors(documents):
    deployment = deployment_of(documents)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    chosen = [("Deployment", deployment["spec"]["selector"]["matchLabels"])]
    chosen += [("Service", service["spec"]["selector"]) for service in of_kind(documents, "Service")]
    for kind in ("PodDisruptionBudget", "NetworkPolicy"):
        field = "podSelector" if kind == "NetworkPolicy" else "selector"
        chosen += [(kind, document["spec"][field]["matchLabels"]) for document in of_kind(documents, kind)]
    for constraint in pod_of(documents).get("topologySpreadConstraints", []):
        chosen.append(("topologySpreadConstraints", constraint["labelSelector"]["matchLabels"]))
    for kind, selector in chosen:
        if not selector or not selector.items() <= labels.items():
            yield f"{kind} does not select the pods"
    if not of_kind(documents, "NetworkPolicy"):
        yield "there is no NetworkPolicy"
    for service in of_kind(documents, "Service"):
        for port in service["spec"]["ports"]:
            if port["targetPort"] not in [port["name"] for port in container_of(documents)["ports"]]:
                yield "Service leads to a port that the container does not name"


def references(documents):
    pod = pod_of(documents)
    names = {(document["kind"], document["metadata"]["name"]) for document in documents}
    for volume in pod["volumes"]:
        if "secret" not in volume and ("ConfigMap", volume.get("configMap", {}).get("name")) not in names:
            yield f"the volume {volume['name']} is of a ConfigMap that does not exist"
    if sorted(volume["name"] for volume in pod["volumes"]) != sorted(mount["name"] for mount in mounts_of(documents)):
        yield "the volumes and where they are mounted differ"
    if ("ServiceAccount", pod.get("serviceAccountName")) not in names:
        yield "the service account does not exist"


def files(documents):
    """Each setting that names a file names one of a Secret or ConfigMap."""
    given = tomllib.loads(of_kind(documents, "ConfigMap")[0]["data"]["reprise.toml"])
    named = {f"{section}.{key}": value for section, keys in given.items() for key, value in keys.items() if key.endswith("_file")}
    named |= {name: value for name, value in variables_of(documents).items() if name.endswith("_FILE")}
    directories = tuple(mount["mountPath"] + "/" for mount in mounts_of(documents))
    for name, path in named.items():
        if not path.startswith(directories):
            yield f"{name} names {path}, which is in no volume"


def tls(documents):
    """Everything that calls the service speaks TLS, or nothing does."""
    container = container_of(documents)
    scheme = "https" if "REPRISE__SERVER__TLS__CERT_FILE" in variables_of(documents) else "http"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if container.get(probe, {}).get("httpGet", {}).get("scheme", "HTTP") != scheme.upper():
            yield f"{probe} does not speak {scheme}"
    ports = [port["name"] for port in container["ports"]]
    ports += [port["name"] for service in of_kind(documents, "Service") for port in service["spec"]["ports"]]
    for policy in of_kind(documents, "NetworkPolicy"):
        ports += [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
    if set(ports) != {scheme}:
        yield f"not every port is called {scheme}: {ports}"
    for monitor in of_kind(documents, "ServiceMonitor"):
        for endpoint in monitor["spec"]["endpoints"]:
            if endpoint.get("scheme", "http") != scheme or ("tlsConfig" in endpoint) != (scheme == "https"):
                yield f"ServiceMonitor does not speak {scheme}"


def egress(documents):
    """The NetworkPolicy lets the pods reach the collector of traces, and opens nothing for it otherwise."""
    endpoint = variables_of(documents).get("REPRISE__TRACES__ENDPOINT") or settings_of(documents)["traces"].get("endpoint")
    for policy in of_kind(documents, "NetworkPolicy"):
        open_ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
        if endpoint and urlsplit(endpoint).port not in open_ports:
            yield "the NetworkPolicy does not let the pods reach the collector of traces"
        if not endpoint and open_ports & {4317, 4318}:
            yield "the NetworkPolicy opens ports of a collector of traces, and there is none"


def secrets(documents):
    if of_kind(documents, "Secret"):
        yield "a Secret is among the manifests"
    container = container_of(documents)
    by_name = {variable["name"]: variable for variable in container.get("env", [])}
    uri = by_name.get("REPRISE__MONGO__URI", {}).get("valueFrom", {}).get("secretKeyRef")
    if uri is None or uri.get("optional"):
        yield "a pod starts without REPRISE__MONGO__URI of a Secret"
    elif {"secretRef": {"name": uri["name"]}} not in container.get("envFrom", []):
        yield "the other secrets are not read from the same Secret"
    for document in of_kind(documents, "ConfigMap"):
        if re.search(r"mongodb(\+srv)?://|^\s*(uri|secret|client_secret)\s*=", document["data"]["reprise.toml"], re.M):
            yield "a secret setting is in the ConfigMap"


def scraping(documents):
    """The shape of a ServiceMonitor, for which there is no schema here, and what it refers to."""
    for monitor in of_kind(documents, "ServiceMonitor"):
        spec = monitor["spec"]
        if monitor["apiVersion"] != "monitoring.coreos.com/v1" or not spec.keys() <= {"jobLabel", "selector", "endpoints"}:
            yield "ServiceMonitor has an unknown field"
        (service,) = of_kind(documents, "Service")
        labels = service["metadata"]["labels"]
        if not spec["selector"]["matchLabels"].items() <= labels.items():
            yield "ServiceMonitor does not select the Service"
        if labels.get(spec.get("jobLabel")) != "reprise":
            yield "the job of the ServiceMonitor is not reprise"
        for endpoint in spec["endpoints"]:
            if not endpoint.keys() <= {"port", "path", "scheme", "tlsConfig", "interval", "scrapeTimeout", "authorization"}:
                yield "an endpoint of the ServiceMonitor has an unknown field"
            if endpoint.get("port") not in [port["name"] for port in service["spec"]["ports"]]:
                yield "ServiceMonitor scrapes a port that the Service does not name"
            if not is_route(endpoint.get("path", "")):
                yield "ServiceMonitor scrapes a route that does not exist"
            if "authorization" in endpoint:
                credentials = endpoint["authorization"].get("credentials", {})
                if set(endpoint["authorization"]) != {"type", "credentials"} or set(credentials) != {"name", "key"}:
                    yield "ServiceMonitor does not name the key of a Secret"


def of_versions(texts):
    for path, text in texts.items():
        if NAME_THE_VERSION[path].format(VERSION) not in text:
            yield f"{path} does not name the version {VERSION}"


def of_unit(text):
    """The time of a stop, which systemd cannot know."""
    given = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M)[1])
    longest = DEFAULTS["server"]["drain_ms"] + 2 * DEFAULTS["limits"]["shutdown_grace_ms"]
    if given <= longest // 1000 + MONGOD_STOP_SECONDS:
        yield "TimeoutStopSec is not longer than a stop may last"
