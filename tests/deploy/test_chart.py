"""The Helm chart: what it renders with the default values and with each option."""

import tomllib
from typing import Any

import pytest

from gatepost.settings import load
from tests.deploy.chart_renderer import Chart
from tests.deploy.files import ROOT, DockerStage, last_stage

CHART = Chart(ROOT / "deploy" / "helm" / "gatepost")
EVERYTHING: dict[str, Any] = {
    "autoscaling": {"enabled": True},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "certificate", "annotations": {"a/b": "c"}},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "persistence": {"storageClass": "shared"},
    "proxies": ["10.0.0.0/8", "fd00::/8"],
    "podAnnotations": {"team": "messages"},
    "service": {"annotations": {"a/b": "c"}},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "role": "worker",
    "secretSettings": {"AWS_SECRET_ACCESS_KEY": "s3-key", "GATEPOST_CELLS__WEST": "west-url"},
    "serviceAccountName": "files",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "everything": EVERYTHING,
    "object storage": {"persistence": {"enabled": False}},
    "own claim": {"persistence": {"existingClaim": "mine"}, "podDisruptionBudget": {"enabled": False}},
}


def objects(variant: str) -> dict[str, dict[str, Any]]:
    rendered = CHART.render(VARIANTS[variant])
    assert len({one["kind"] for one in rendered}) == len(rendered)
    return {one["kind"]: one for one in rendered}


def pod_of(variant: str) -> dict[str, Any]:
    pod: dict[str, Any] = objects(variant)["Deployment"]["spec"]["template"]["spec"]
    return pod


def container_of(variant: str) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = pod_of(variant)["containers"]
    return container


@pytest.mark.parametrize(
    ("variant", "kinds"),
    [
        ("default", {"Deployment", "Service", "PodDisruptionBudget", "PersistentVolumeClaim"}),
        (
            "everything",
            {
                "Deployment",
                "Service",
                "PodDisruptionBudget",
                "PersistentVolumeClaim",
                "Ingress",
                "HorizontalPodAutoscaler",
                "NetworkPolicy",
            },
        ),
        ("object storage", {"Deployment", "Service", "PodDisruptionBudget"}),
        ("own claim", {"Deployment", "Service"}),
    ],
)
def test_each_option_adds_its_object(variant: str, kinds: set[str]) -> None:
    assert objects(variant).keys() == kinds


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_selector_finds_the_pods(variant: str) -> None:
    found = objects(variant)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [found["Deployment"]["spec"]["selector"]["matchLabels"], found["Service"]["spec"]["selector"]]
    selectors += [
        found[kind]["spec"][field]["matchLabels"]
        for kind, field in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector"))
        if kind in found
    ]
    selectors += [one["labelSelector"]["matchLabels"] for one in pod_of(variant)["topologySpreadConstraints"]]
    assert all(selector.items() <= labels and selector for selector in selectors)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gateway_accepts_the_settings(variant: str) -> None:
    environ = {one["name"]: one["value"] for one in container_of(variant)["env"] if "value" in one}
    settings = load(environ=environ)
    assert settings.server.processes == 1
    assert list(settings.server.trusted_proxies) == VARIANTS[variant].get("proxies", [])


def test_proxies_have_no_limit_of_connections() -> None:
    environ = {one["name"]: one["value"] for one in container_of("everything")["env"] if "value" in one}
    assert list(load(environ=environ).server.unlimited_addresses) == EVERYTHING["proxies"]


def test_secrets_are_read_from_the_secret_only() -> None:
    read = {
        one["name"]: one["valueFrom"]["secretKeyRef"] for one in container_of("default")["env"] if "valueFrom" in one
    }
    assert read == {
        "GATEPOST_DATABASE__URL": {"name": "gatepost", "key": "database-url"},
        "GATEPOST_SECURITY__SECRET_KEY": {"name": "gatepost", "key": "secret-key"},
        "GATEPOST_METRICS__TOKEN": {"name": "gatepost", "key": "metrics-token", "optional": True},
    }
    given = dict.fromkeys(read, "text") | {"GATEPOST_DATABASE__URL": "postgresql://db/gatepost"}
    assert load(environ=given).metrics.token == "text"
    more = [one for one in container_of("everything")["env"] if one["name"] in EVERYTHING["secretSettings"]]
    assert [one["valueFrom"]["secretKeyRef"] for one in more] == [
        {"name": "gatepost", "key": key} for key in ("s3-key", "west-url")
    ]
    assert pod_of("everything")["serviceAccountName"] == "files"
    assert "serviceAccountName" not in pod_of("default")


def test_the_pod_has_the_user_the_folders_and_the_port_of_the_image() -> None:
    image: DockerStage = last_stage()
    pod, container = pod_of("default"), container_of("default")
    context = pod["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == image["USER"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {one["mountPath"] for one in container["volumeMounts"]} == {image["VOLUME"], "/tmp"}
    assert str(container["ports"][0]["containerPort"]) == image["EXPOSE"]
    assert container["args"][0] == image.words("CMD")[0]


def test_a_database_outage_makes_pods_unready_but_does_not_restart_them() -> None:
    container = container_of("default")
    paths = {probe: container[probe]["httpGet"]["path"] for probe in container if probe.endswith("Probe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] == CHART.values["startSeconds"]


def test_a_pod_has_time_to_stop() -> None:
    drain = load(environ={}).server.drain_seconds
    assert pod_of("default")["terminationGracePeriodSeconds"] > drain + 5  # 5: the hook before the stop


def test_the_autoscaler_decides_the_number_of_pods() -> None:
    assert objects("default")["Deployment"]["spec"]["replicas"] == 2
    assert "replicas" not in objects("everything")["Deployment"]["spec"]
    target = objects("everything")["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == objects("everything")["Deployment"]["metadata"]["name"]


@pytest.mark.parametrize(
    ("variant", "volume"),
    [
        ("default", {"persistentVolumeClaim": {"claimName": "shop"}}),
        ("own claim", {"persistentVolumeClaim": {"claimName": "mine"}}),
        ("object storage", {"emptyDir": {}}),
    ],
)
def test_files_are_on_the_claim(variant: str, volume: dict[str, Any]) -> None:
    (data,) = [one for one in pod_of(variant)["volumes"] if one["name"] == "data"]
    assert data == {"name": "data", **volume}


def test_the_ingress_leads_to_the_service() -> None:
    found = objects("everything")
    (rule,) = found["Ingress"]["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": found["Service"]["metadata"]["name"], "port": {"name": "http"}}
    assert found["Ingress"]["spec"]["tls"] == [{"hosts": [rule["host"]], "secretName": "certificate"}]


def test_the_version_is_that_of_the_gateway() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (CHART.about["AppVersion"], CHART.about["Version"]) == (version, version)
    assert container_of("default")["image"] == f"gatepost:{version}"
