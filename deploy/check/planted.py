"""Mistakes on purpose: each must be found by the check that is for it."""

import copy

import equality
import rules
import schemas


def outcomes(binary, rendered, schema, values, compose, unit, texts):
    """The number of mistakes that were found, and a line for each that was not."""
    missed, number = [], 0
    for name, check, good, plant, expected in mistakes(binary, rendered, schema, values, compose, unit, texts):
        bad = copy.deepcopy(good)
        bad = plant(bad) or bad
        found = list(check(bad))
        number += 1
        if bad == good:
            missed.append(f"planted: {name}: nothing was changed")
        elif not any(expected in finding for finding in found):
            missed.append(f"planted: {name}: not found, but {found}")
    return number - len(missed), missed


def mistakes(binary, rendered, schema, values, compose, unit, texts):
    base, components, everything = (rendered[name] for name in ("base", "components", "everything"))

    def by_rules(name, documents, plant, expected):
        return name, rules.findings, documents, plant, expected

    def by_schema(name, plant, expected):
        return name, lambda bad: schemas.of_kubernetes(bad, ("1.37",)), base, plant, expected

    def in_chart(name, plant, expected):
        return name, lambda bad: equality.differences(base, bad), rendered["default"], plant, expected

    def in_values(name, change, expected):
        return name, lambda bad: schemas.of_values(schema, bad), values, lambda bad: schemas.merged(bad, change), expected

    def in_compose(name, old, new, expected):
        return name, schemas.of_compose, compose, lambda bad: bad.replace(old, new), expected

    yield by_schema("an unknown field", lambda bad: container(bad).update(imagePolicy="Always"), "imagePolicy")
    yield by_schema("text for a number", lambda bad: spec(bad).update(replicas="two"), "'two' is not")
    yield by_schema("an unknown kind", lambda bad: bad[0].update(kind="Deploymemt"), "Couldn't find schema")
    yield by_schema("a field of another place", lambda bad: spec(bad).update(resources={}), "resources")

    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        yield by_rules(f"no {probe}", base, lambda bad, probe=probe: container(bad).pop(probe) and None, probe)
    yield by_rules(
        "liveness by the database", base, lambda bad: of_probe(bad).update(path="/api/health/ready"), "livenessProbe"
    )
    yield by_rules("a route that is none", base, lambda bad: of_probe(bad).update(path="/healthz"), "livenessProbe")
    yield by_rules("a probe of another port", base, lambda bad: of_probe(bad).update(port="web"), "does not name")
    yield by_rules("a hook", base, lambda bad: container(bad).update(lifecycle={"preStop": {}}), "hook")
    yield by_rules("root", base, lambda bad: pod(bad)["securityContext"].update(runAsUser=0), "as root")
    yield by_rules("root in the container", base, lambda bad: container(bad)["securityContext"].update(runAsUser=0), "as root")
    yield by_rules("no seccomp", base, lambda bad: pod(bad)["securityContext"].pop("seccompProfile") and None, "seccomp")
    yield by_rules(
        "capabilities", base, lambda bad: container(bad)["securityContext"].pop("capabilities") and None, "capabilities"
    )
    yield by_rules(
        "a file system to write",
        base,
        lambda bad: container(bad)["securityContext"].update(readOnlyRootFilesystem=False),
        "may write",
    )
    yield by_rules(
        "a directory of the node",
        base,
        lambda bad: pod(bad)["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
        "node",
    )
    yield by_rules(
        "a token of the cluster", base, lambda bad: pod(bad).update(automountServiceAccountToken=True), "token for the API"
    )
    yield by_rules(
        "a short end", base, lambda bad: pod(bad).update(terminationGracePeriodSeconds=30), "terminationGracePeriodSeconds"
    )
    yield by_rules("a short drain", base, lambda bad: toml(bad, "drain_ms = 15000", "drain_ms = 9000"), "drain_ms")
    yield by_rules("no tokens", base, lambda bad: toml(bad, '"jwt"', '"none"'), "no tokens")
    yield by_rules("only this pod", base, lambda bad: toml(bad, "0.0.0.0:8080", "127.0.0.1:8080"), "listens on")
    yield by_rules("a secret in the settings", base, lambda bad: toml(bad, "[auth]", '[auth]\nsecret = "x"'), "secret setting")
    yield by_rules("one pod", base, lambda bad: spec(bad).update(replicas=1), "single pod")
    yield by_rules("scaled and fixed", everything, lambda bad: spec(bad).update(replicas=2), "replicas although")
    yield by_rules(
        "a budget of all", base, lambda bad: one(bad, "PodDisruptionBudget")["spec"].update(maxUnavailable=2), "all pods"
    )
    yield by_rules("no budget", base, lambda bad: bad.remove(one(bad, "PodDisruptionBudget")), "no PodDisruptionBudget")
    yield by_rules("no policy", base, lambda bad: bad.remove(one(bad, "NetworkPolicy")), "no NetworkPolicy")
    yield by_rules("little memory", base, lambda bad: container(bad)["resources"]["limits"].update(memory="512Mi"), "memory")
    yield by_rules("no version", base, lambda bad: container(bad).update(image="reprise:latest"), "no version")
    yield by_rules(
        "other labels",
        base,
        lambda bad: one(bad, "Service")["spec"].update(selector={"app": "reprise"}),
        "Service does not select",
    )
    yield by_rules(
        "a wrong port", base, lambda bad: one(bad, "Service")["spec"]["ports"][0].update(targetPort="web"), "does not name"
    )
    yield by_rules("no service account", base, lambda bad: bad.remove(one(bad, "ServiceAccount")), "service account")
    yield by_rules(
        "other settings", base, lambda bad: pod(bad)["volumes"][0]["configMap"].update(name="reprise"), "does not exist"
    )
    yield by_rules(
        "a volume that is not mounted", base, lambda bad: container(bad).update(volumeMounts=[]), "where they are mounted"
    )
    yield by_rules(
        "a file of no volume", components, lambda bad: toml(bad, "/etc/reprise-files/integ", "/run/integ"), "integrity.key_file names"
    )
    yield by_rules(
        "a file of no volume in a variable",
        everything,
        lambda bad: variable(bad, "REPRISE__SERVER__TLS__KEY_FILE").update(value="/run/tls.key"),
        "TLS__KEY_FILE names",
    )
    for secured in (components, everything):
        yield by_rules("a probe without TLS", secured, lambda bad: of_probe(bad).pop("scheme") and None, "livenessProbe does not")
        yield by_rules(
            "a scrape without TLS", secured, lambda bad: endpoint(bad).pop("scheme") and None, "ServiceMonitor does not speak"
        )
        yield by_rules(
            "another name of the port",
            secured,
            lambda bad: one(bad, "Service")["spec"]["ports"][0].update(name="http"),
            "is called https",
        )
    yield by_rules("a probe with TLS", base, lambda bad: of_probe(bad).update(scheme="HTTPS"), "livenessProbe does not")
    yield by_rules(
        "no way to the collector",
        everything,
        lambda bad: variable(bad, "REPRISE__TRACES__ENDPOINT").update(value="http://otel-collector:4318/v1/traces"),
        "reach the collector",
    )
    yield by_rules(
        "a way to no collector",
        base,
        lambda bad: one(bad, "NetworkPolicy")["spec"]["egress"].append({"ports": [{"port": 4318}]}),
        "there is none",
    )
    yield by_rules("no URI", base, lambda bad: container(bad).update(env=[]), "REPRISE__MONGO__URI")
    yield by_rules("a Secret", base, lambda bad: bad.append({"kind": "Secret", "metadata": {"name": "reprise"}}), "a Secret is")
    monitored = rendered["example"]
    yield by_rules("an unmonitored port", monitored, lambda bad: endpoint(bad).update(port="metrics"), "scrapes a port")
    yield by_rules("an unmonitored route", monitored, lambda bad: endpoint(bad).update(path="/prometheus"), "scrapes a route")
    yield by_rules(
        "an unknown field of an endpoint", monitored, lambda bad: endpoint(bad).update(intervall="1s"), "unknown field"
    )
    yield by_rules("another job", monitored, lambda bad: one(bad, "ServiceMonitor")["spec"].pop("jobLabel") and None, "the job")
    yield by_rules(
        "monitored labels",
        monitored,
        lambda bad: one(bad, "ServiceMonitor")["spec"]["selector"].update(matchLabels={"app": "x"}),
        "select the Service",
    )

    yield in_chart(
        "another probe in the chart",
        lambda bad: of_probe(bad).update(path="/x"),
        "Deployment/reprise.spec.template.spec.containers[0].livenessProbe",
    )
    yield in_chart("another setting in the chart", lambda bad: toml(bad, "15000", "16000"), "ConfigMap/reprise.data")
    yield in_chart(
        "a document less in the chart", lambda bad: bad.remove(one(bad, "NetworkPolicy")), "only the base has NetworkPolicy"
    )

    def by_service(name, old, new, expected):
        return name, lambda bad: schemas.of_service(binary, bad), base, lambda bad: toml(bad, old, new), expected

    yield by_service("an unknown setting", "drain_ms", "drain_sec", "drain_sec")
    yield by_service("a setting of another type", "15000", '"soon"', "drain_ms")

    yield in_values("a value with a typing error", {"replicas": 2}, "'replicas' was unexpected")
    yield in_values("a value of another type", {"replicaCount": "2"}, "is not of type 'integer'")
    yield in_values("no Secret", {"secretName": ""}, "secretName")
    yield in_values("a digest that is none", {"image": {"digest": "sha256:1"}}, "image.digest")
    yield in_values("a name that is none of a Service", {"fullnameOverride": "my.chats"}, "fullnameOverride")
    yield in_values("a label that selects", {"podLabels": {"app.kubernetes.io/name": "chats"}}, "podLabels")
    yield in_values("a label of the chart", {"serviceMonitor": {"labels": {"helm.sh/chart": "x"}}}, "serviceMonitor.labels")
    yield in_values("an annotation of the chart", {"podAnnotations": {"checksum/config": "x"}}, "podAnnotations")
    yield in_values("a volume of the chart", {"extraVolumes": [{"name": "tls"}]}, "extraVolumes")
    yield in_values(
        "a directory of the chart",
        {"extraVolumeMounts": [{"name": "roots", "mountPath": "/etc/reprise"}]},
        "extraVolumeMounts",
    )
    yield in_values("an endpoint that is none", {"traces": {"endpoint": "otel:4317"}}, "traces.endpoint")
    yield in_values("a file outside its directory", {"files": {"auth": "../jwks.json"}}, "files.auth")
    yield in_values("a port that is none", {"service": {"port": 0}}, "service.port")

    yield in_compose("an unknown field of compose", "read_only:", "readonly:", "readonly")
    yield in_compose("an unknown network", "networks: [database]", "networks: [databases]", "databases")
    yield in_compose("a database in the open", "internal: true", "internal: false", "from outside")
    yield in_compose("a published service", "127.0.0.1:8080:8080", "8080:8080", "published")
    yield in_compose("a start too early", "service_healthy", "service_started", "does not wait")

    yield "a short stop", rules.of_unit, unit, lambda bad: bad.replace("StopSec=120", "StopSec=60"), "TimeoutStopSec"
    for path in texts:
        yield f"an old version in {path}", rules.of_versions, texts, lambda bad, path=path: old(bad, path), path


def old(texts, path):
    return texts | {path: texts[path].replace(rules.VERSION, "0.0.9")}


def one(documents, kind):
    (document,) = rules.of_kind(documents, kind)
    return document


def spec(documents):
    return rules.deployment_of(documents)["spec"]


def pod(documents):
    return rules.pod_of(documents)


def container(documents):
    return rules.container_of(documents)


def variable(documents, name):
    (found,) = (variable for variable in container(documents)["env"] if variable["name"] == name)
    return found


def of_probe(documents):
    return container(documents)["livenessProbe"]["httpGet"]


def endpoint(documents):
    return one(documents, "ServiceMonitor")["spec"]["endpoints"][0]


def toml(documents, old, new):
    data = one(documents, "ConfigMap")["data"]
    data["reprise.toml"] = data["reprise.toml"].replace(old, new)
