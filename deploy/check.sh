#!/usr/bin/env bash
# Checks everything by which the service is installed: the unit of systemd, the manifests, the chart, the compose file, the
# bill of materials and the image. Each check is then given a mistake, and must find it.
#
#     deploy/check.sh BINARY
#     deploy/check.sh --packages      only installs what is missing
#
# The image is built of the binary without its symbols. IMAGE_LIMIT_BYTES is the most that it may have, compressed: by
# default 15,000,000, for the profile `dist`. For a binary of the tests, give more, and an IMAGE_ZSTD_LEVEL of 3 to save
# time. Needs root (for chroot) and Python 3.11 with pip; what is missing comes from Debian. Without a kubectl of 1.24 or newer, the
# manifests, the chart and the compose file are not checked, and it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}
# must_fail WHAT EXPECTED COMMAND...: runs a command on a mistake: it must fail, and say what is expected.
must_fail() {
    if "${@:3}" >"$work/planted" 2>&1 || ! grep --quiet --fixed-strings -e "$2" "$work/planted"; then
        cat "$work/planted" >&2
        fail "planted: not found: $1"
    fi
    echo "planted, and found: $1"
}

[[ $(id --user) == 0 ]] || fail "deploy/check.sh needs root, to run the image by chroot"
missing=()
for pair in umoci:umoci skopeo:skopeo zstd:zstd kubectl:kubernetes-client go:golang-go systemd-analyze:systemd strip:binutils; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[[ -d /usr/share/gocode/src/github.com/Masterminds/sprig ]] || missing+=(golang-github-masterminds-sprig-dev)
[[ -d /usr/share/ca-certificates/mozilla ]] || missing+=(ca-certificates)
if ((${#missing[@]})); then
    echo "installing ${missing[*]}"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"; } \
        >"$work/apt" 2>&1 || { tail -5 "$work/apt" >&2; exit 1; }
fi
# Debian 12 has one that is too old.
can_render=yes
kubectl version --client 2>"$work/kubectl" | grep 'Kustomize Version' >"$work/kustomize" || can_render=
python=$(realpath "$(tests/venv.sh deploy deploy/check/requirements.txt)")/bin/python
tests/venv.sh sbom deploy/sbom-requirements.txt >"$work/sbom"
[[ $1 != --packages ]] || exit 0
strip -o "$work/reprise" "$1"
binary=$work/reprise

echo "-- the unit of systemd"
# hardened UNIT: its exposure is at most 2.0 of 10. The threshold is a tenth.
hardened() { systemd-analyze security --offline=true --no-pager --threshold=20 "$1"; }
# understood UNIT: systemd knows every line.
understood() {
    sed "s#^ExecStart=/usr/bin/reprise#ExecStart=$binary#" "$1" >"$work/understood.service"
    # A directive that it does not know is a warning for it.
    systemd-analyze verify --recursive-errors=no --man=no "$work/understood.service" >"$work/verify" 2>&1 || true
    cat "$work/verify"
    [[ ! -s $work/verify ]]
}
unit=deploy/systemd/reprise.service
hardened "$unit" >"$work/security" || { cat "$work/security" >&2; exit 1; }
tail -1 "$work/security"
understood "$unit"
# planted_unit EXPRESSION: the unit, changed by sed.
planted_unit() {
    sed "$1" "$unit" >"$work/reprise.service"
    ! cmp --silent "$unit" "$work/reprise.service" || fail "planted: nothing was changed: $1"
}
planted_unit '/^SystemCallFilter/d; /^CapabilityBoundingSet/d'
must_fail "a unit with all capabilities and calls" "Overall exposure level" hardened "$work/reprise.service"
planted_unit 's/^PrivateDevices/PrivateDevice/'
must_fail "a directive with a typing error" "PrivateDevice" understood "$work/reprise.service"

# Renders the manifests and the chart, and checks them and the compose file.
check_manifests() {
    GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode go build -o "$work/chart" ./deploy/check/chart
    mkdir "$work/rendered"
    kubectl kustomize deploy/kubernetes/base >"$work/rendered/base.yaml"
    kubectl kustomize deploy/kubernetes/overlays/example >"$work/rendered/example.yaml"
    kubectl kustomize deploy/check/kustomize >"$work/rendered/components.yaml"
    # chart OUTPUT ARGUMENT...: renders the chart. It prints NOTES.txt, or why it failed, to standard error.
    chart() {
        "$work/chart" deploy/helm/reprise "${@:2}" >"$work/rendered/$1.yaml" 2>"$work/notes" || { cat "$work/notes" >&2; exit 1; }
    }
    chart default reprise default
    chart everything chats chats deploy/check/everything.yaml
    for said in 'installed as chats in the namespace chats' 'Secret "chats-secrets"' 'service/chats 8080:80'; do
        grep -q "$said" "$work/notes" || fail "NOTES.txt does not say: $said"
    done
    cp -r deploy/helm/reprise "$work/planted-chart"
    sed -i 's/\.Values\.replicaCount/.Values.replicas/' "$work/planted-chart/templates/deployment.yaml"
    must_fail "a template of a value that does not exist" "replicas" "$work/chart" "$work/planted-chart" reprise default
    # refused WHAT EXPECTED RELEASE VALUES: the chart refuses a release with these values.
    refused() {
        printf '%s\n' "$4" >"$work/values.yaml"
        must_fail "$1" "$2" "$work/chart" deploy/helm/reprise "$3" default "$work/values.yaml"
    }
    refused "a release with a dot" '"my.release-reprise" cannot be the name of a Service' my.release '{}'
    refused "a release with a digit first" '"1release-reprise" cannot be the name of a Service' 1release '{}'
    refused "fewer pods than the fewest" "autoscaling.minReplicas is 7" reprise 'autoscaling: {enabled: true, minReplicas: 7}'
    refused "files of no Secret" "set files.secretName" reprise 'files: {integrity: integrity.pem}'
    refused "certificates of probes" "the kubelet has no certificate" reprise 'config: "client_ca_file = \"/etc/ca.pem\""'
    PYTHONDONTWRITEBYTECODE=1 "$python" deploy/check/check.py "$binary" "$work/rendered"
}
echo "-- the manifests, the chart and the compose file"
if [[ $can_render ]]; then
    check_manifests
else
    echo "NOT CHECKED: kubectl is too old, 1.24 or newer is needed"
fi

echo "-- the bill of materials"
deploy/sbom.sh >"$work/bom.json"
"$python" - "$work/bom.json" <<'PYTHON'
import json, sys

bom = json.load(open(sys.argv[1]))
names = {component["name"] for component in bom["components"]}
assert {"mongodb", "rustls", "reprise-persistence"} <= names, sorted(names)
assert not {"insta", "proptest", "rcgen", "tests", "bench"} & names, "crates of tests are in it"
refs = {component["bom-ref"] for component in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
assert all(component["licenses"] for component in bom["components"])
for dependency in bom["dependencies"]:
    assert {dependency["ref"], *dependency.get("dependsOn", [])} <= refs, dependency
print(f"{len(names)} crates, each with its licence")
PYTHON

echo "-- the image"
deploy/image/build.sh "$binary" "$work/first" | tee "$work/built"
deploy/image/build.sh "$binary" "$work/second" >"$work/again"
[[ $(tail -1 "$work/built") == sha256:* && $(tail -1 "$work/built") == "$(tail -1 "$work/again")" ]] ||
    fail "two builds have two digests: $(tail -1 "$work/built") and $(tail -1 "$work/again")"
must_fail "an image that is too large" "larger than 1000000 bytes" env IMAGE_LIMIT_BYTES=1000000 deploy/image/build.sh "$binary" "$work/large"
image=$work/first/reprise:$("$binary" --version | cut -d ' ' -f 2)
config=deploy/kubernetes/base/reprise.toml
"$python" - "$image" <<'PYTHON'
import json, subprocess, sys

image = json.loads(subprocess.check_output(["skopeo", "inspect", "--config", f"oci:{sys.argv[1]}"]))
config = image["config"]
assert config["User"] == "65532:65532", config
assert config["Entrypoint"] == ["reprise"] and config["Cmd"] == ["serve"], config
assert list(config["ExposedPorts"]) == ["8080/tcp"] and config["StopSignal"] == "SIGTERM", config
wanted = {"title", "description", "version", "revision", "created", "licenses"}
assert set(config["Labels"]) == {f"org.opencontainers.image.{name}" for name in wanted}, config["Labels"]
assert all(config["Labels"].values()) and len(image["rootfs"]["diff_ids"]) == 1, image
PYTHON
deploy/check/run-image.sh "$binary" "$image" "$config"
umoci config --image "$image" --tag root --config.user 0:0
must_fail "an image that runs as root" "the user of the image is 0:0" deploy/check/run-image.sh "$binary" "${image%:*}:root" "$config"
umoci config --image "$image" --tag silent --config.cmd check
must_fail "an image that does not serve" "would listen on" deploy/check/run-image.sh "$binary" "${image%:*}:silent" "$config"
