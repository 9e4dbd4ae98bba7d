"""A public class name has one meaning in the gateway, and a module name too, unless it is listed here with a reason."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "gatepost"

# What the API and events show is named after the thing itself, because these names are public.
PUBLIC = ("api/contract/", "model/event/")
CLASSES = {"NumberCheck", "Wait"}  # still to be renamed

# A resource has the same name in each layer: its routes, its service, its commands, its statements.
RESOURCES = {
    "account",
    "account_log",
    "account_usage",
    "accounts",
    "cells",
    "channels",
    "contacts",
    "conversations",
    "credentials",
    "deliveries",
    "devices",
    "drafts",
    "endpoints",
    "events",
    "files",
    "history",
    "idempotency",
    "keys",
    "labels",
    "limits",
    "link",
    "links",
    "media",
    "messages",
    "metrics",
    "network_updates",
    "notes",
    "numbers",
    "one_time_links",
    "orders",
    "profile",
    "query",
    "quota",
    "recoveries",
    "saved_views",
    "session",
    "templates",
    "totp",
    "usage",
    "users",
    "webhooks",
}
# A stage has the same name where it decides and where it writes.
STAGES = {"accept", "batch", "cancel", "queue", "receive", "retry", "send", "signing"}
# Each network has these, and so has the child process of each engine.
NETWORKS = {"calls", "compose", "engine", "kind", "kinds", "people", "values"}
# Each package may have one: its errors, its checks, its server, the parts of what it describes.
PARTS = {"app", "changes", "checks", "clock", "errors", "examples", "parts", "serve", "server", "serving", "shapes"}
PARTS |= {"slots"}  # for the variables of a template, and for connections of the pool
MODULES = RESOURCES | STAGES | NETWORKS | PARTS


def sources(folder: Path) -> dict[str, str]:
    """Return the text of each module by its path below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def public_classes(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the module of each public class."""
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def modules(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the path of each module; the contract of a route's module has the same name as that."""
    for path in texts:
        if (name := Path(path).stem) not in ("__init__", "__main__") and "contract" not in Path(path).parts:
            yield name, path


def repeated(found: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur more than once, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in found:
        places[name].append(place)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_a_class_name_has_one_meaning() -> None:
    texts = sources(SOURCE)
    assert len(texts) > 200
    shown = {folder: {path: text for path, text in texts.items() if path.startswith(folder)} for folder in PUBLIC}
    inside = {path: text for path, text in texts.items() if not path.startswith(PUBLIC)}
    for part in (inside, *shown.values()):
        assert part
        unlisted = {name: where for name, where in repeated(public_classes(part)).items() if name not in CLASSES}
        assert not unlisted, "These public classes share a name. Rename all but one of each."


def test_a_module_name_has_one_meaning() -> None:
    unlisted = {name: where for name, where in repeated(modules(sources(SOURCE))).items() if name not in MODULES}
    assert not unlisted, "These modules share a name. Name each after what it holds."


def test_repeated_names_are_found() -> None:
    texts = {"a/one.py": "class Page: ...\nclass _Own: ...", "b/one.py": "class Page: ...\nclass _Own: ...", "c.py": ""}
    assert repeated(public_classes(texts)) == {"Page": ["a/one.py", "b/one.py"]}
    assert repeated(modules(texts)) == {"one": ["a/one.py", "b/one.py"]}
