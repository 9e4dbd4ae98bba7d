"""The parts of a release as a CycloneDX document (SBOM): locked Python libraries, and the npm packages in the pages.

The same lock files give the same document. Hashes of the Python libraries are in `requirements.txt`: one for each file
that a library publishes, while a part of an SBOM can only have one.
"""

import base64
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*(.*?))?\s*\\?$")
_NAMESPACE = uuid.UUID("7a3b2a2e-3c0b-4b5f-9a0c-5d3f5f1c2b11")


def make_sbom(root: Path, version: str) -> str:
    """Return the document of a version."""
    components = [*python_parts(root / "requirements.txt"), *page_parts(root / "dashboard" / "package-lock.json")]
    about = {"type": "application", "bom-ref": "gatepost", "name": "gatepost", "version": version}
    licensed = {**about, "purl": f"pkg:pypi/gatepost@{version}", "licenses": [{"license": {"id": "Apache-2.0"}}]}
    parts = sorted(components, key=lambda part: part["bom-ref"])
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, json.dumps([about, parts]))}",
        "version": 1,
        "metadata": {"component": licensed},
        "components": parts,
        "dependencies": [{"ref": "gatepost", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def python_parts(lock: Path) -> Iterator[dict[str, Any]]:
    """Return the libraries of the lock file, with the condition under which each is installed."""
    for line in lock.read_text().splitlines():
        if found := _LOCKED.match(line):
            name, version, condition = found.groups()
            part = _part("pypi", name, version)
            if condition:
                part["properties"] = [{"name": "gatepost:installed-if", "value": condition}]
            yield part


def page_parts(lock: Path) -> Iterator[dict[str, Any]]:
    """Return the npm packages that the dashboard and the phone page contain; not the tools that build them."""
    found = {}
    for path, package in json.loads(lock.read_text())["packages"].items():
        if path and not package.get("dev"):
            part = _part("npm", path.rpartition("node_modules/")[2], package["version"])
            algorithm, _, digest = package["integrity"].partition("-")
            assert algorithm == "sha512"
            part["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}]
            if package.get("license"):
                part["licenses"] = [{"expression": package["license"]}]
            found[part["bom-ref"]] = part
    yield from found.values()


def _part(registry: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:{registry}/{quote(name, safe='/')}@{version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
