"""The gateway rules, read from the source itself: who imports whom, where SQL and drivers live, how big things get.

cli
app          (app, cells, channel_worker, housekeeping, network_factory, database_lifecycle, owner, owned_channel,
              channel_claims, channel_turns, held_leases, clock_sync, logs, privileges, process_limits, processes,
              readiness, running_address, serving, settings, start_errors, stop_signals, http_*)
api │ mcp │ console
access
outbound │ inbound │ webhooks │ services │ admin
channel_task
networks │ store
sandbox │ client                                  (only cli uses them; they import nothing of ours)
background │ grouped_lookup
model │ clock │ compute │ metrics │ metrics_totals

A line may import lines below it, never above, and names on one line never import each other.
"""

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.for_each import for_each

ROOT = Path(__file__).parents[1]
LINES = (
    ("cli",),
    ("app",),
    ("api", "mcp", "console"),
    ("access",),
    ("outbound", "inbound", "webhooks", "services", "admin"),
    ("channel_task",),
    ("networks", "store"),
    ("sandbox", "client"),
    ("background", "grouped_lookup"),
    ("model", "clock", "compute", "metrics", "metrics_totals", "tracing"),
)
HEIGHT = {name: len(LINES) - i for i, line in enumerate(LINES) for name in line}
APP = {
    "app",
    "cells",
    "housekeeping",
    "network_factory",
    "database_lifecycle",
    "owner",
    "owned_channel",
    "channel_claims",
    "channel_turns",
    "held_leases",
    "channel_worker",
    "clock_sync",
    "logs",
    "loop_watchdog",
    "privileges",
    "process_limits",
    "processes",
    "readiness",
    "running_address",
    "serving",
    "settings",
    "start_errors",
    "stop_signals",
    "trace_export",
    "http_protocol",
    "http_connections",
    "http_direct",
    "http_headers",
    "http_repeated",
    "http_transport",
}
PACKAGES = {"gatepost_client": "client", "gatepost_sandbox": "sandbox"}
ALONE = {"sandbox", "client"}  # what stands outside of the gateway: the network that it calls, and who calls it
LIBRARIES = {
    "litestar": {"sandbox"},
    "starlette": {"api", "mcp", "console", "sandbox", "app"},
    "uvicorn": {"api", "mcp", "console", "sandbox", "app"},
    "asyncpg": {"store"},
    "pyreqwest": {
        "networks",
        "webhooks",
        "sandbox",
        "client",
        "app",
    },  # outgoing calls, and our own callers
}
# They run in the process that holds links, which keeps its own tables.
OWN_STORES = {f"gatepost.networks.qr.phone.{engine}.devices" for engine in ("by_baileys", "by_neonize")}
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b")
NETWORKS = {"official", "qr"}
ROUTES = {"get", "post", "put", "patch", "delete", "head", "route", "websocket", "asgi"}
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base_service"}

Sources = Mapping[str, str]  # dotted name of a module → its text


@pytest.fixture(scope="module")
def gateway() -> dict[str, str]:
    """Give every module of ours with its text."""
    folders = [ROOT / "src", *sorted(ROOT.glob("packages/*/src"))]
    return {
        dotted(path.relative_to(folder)): path.read_text()
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


parse = cache(ast.parse)


@cache
def nodes(text: str) -> list[ast.AST]:
    """Return all nodes of a module. Most rules look at each of them."""
    return list(ast.walk(parse(text)))


def part_of(module: str) -> str:
    """The name in the drawing that a module belongs to; empty for the package itself."""
    package, _, rest = module.partition(".")
    if package in PACKAGES:
        return PACKAGES[package]
    name = rest.split(".")[0]
    return "app" if name in APP else name


def imports(module: str, text: str, known: Container[str]) -> Iterator[str]:
    """What a module imports, with submodules of ours by their full names."""
    for node in nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in known else base


def import_faults(sources: Sources, known: Container[str]) -> list[str]:
    """Every import that goes up or sideways, and every library in the wrong room."""
    faults = []
    for module, text in sources.items():
        for target in set(imports(module, text, known)):
            ours = target.split(".")[0] in {"gatepost", *PACKAGES}
            why = _ours(module, target) if ours else _library(module, target)
            if why:
                faults.append(f"{module} imports {target}: {why}")
    return sorted(faults)


def _ours(module: str, target: str) -> str | None:
    source, aim = part_of(module), part_of(target)
    if not aim or source == aim:
        return None
    if not source or source not in HEIGHT or aim not in HEIGHT:
        return "is not in the drawing"
    if source in ALONE:
        return f"the {source} imports nothing of ours"
    if aim in ALONE and source != "cli":
        return f"only cli uses the {aim}"
    if HEIGHT[source] == HEIGHT[aim]:
        return "names on one line do not know each other"
    return "goes up" if HEIGHT[source] < HEIGHT[aim] else None


def _library(module: str, target: str) -> str | None:
    rooms = LIBRARIES.get(target.split(".")[0])
    own = target == "asyncpg" and module in OWN_STORES
    return None if rooms is None or own or part_of(module) in rooms else f"belongs in {', '.join(sorted(rooms))}"


def find_cycle(sources: Sources) -> list[str] | None:
    """The modules of an import cycle; None when there is none."""
    graph = {module: set(imports(module, text, sources)) & set(sources) for module, text in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return None


def sql_faults(sources: Sources) -> list[str]:
    """Text outside of the store that looks like SQL; docstrings may speak of it."""
    faults = []
    for module, text in sources.items():
        if part_of(module) != "store" and module not in OWN_STORES:
            faults += [f"{module}:{line}" for line in _sql_lines(text)]
    return faults


def _sql_lines(text: str) -> list[int]:
    if not SQL.search(text):
        return []
    prose = {id(node.value) for node in nodes(text) if isinstance(node, ast.Expr)}
    return [
        node.lineno
        for node in nodes(text)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SQL.search(node.value)
        and id(node) not in prose
    ]


def long_handlers(sources: Sources, most: int = 12) -> list[str]:
    """Return the handlers of the REST API that do more than declare, call one function, and answer."""
    return [
        f"{module}.{function.name}: {length} lines"
        for module, text in sources.items()
        if part_of(module) == "api"
        for function in nodes(text)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_route, function.decorator_list))
        if (length := _body_length(function)) > most
    ]


def _is_route(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(named, ast.Name) and named.id in ROUTES


def _body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def named_networks(sources: Sources) -> list[str]:
    """Comparisons with a network's name, and `isinstance` on a network, outside of `networks`."""
    faults = []
    for module, text in sources.items():
        if part_of(module) in {"networks", "sandbox", "client"}:
            continue
        for node in nodes(text):
            named = False
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                named = any(isinstance(side, ast.Constant) and side.value in NETWORKS for side in sides)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                named = re.match(r"isinstance\(.*Network\b", ast.unparse(node)) is not None
            if named:
                faults.append(f"{module}:{ast.unparse(node)}")
    return faults


def vague_names(paths: Iterable[Path]) -> list[str]:
    return [str(path) for path in paths if VAGUE & {part.removesuffix(".py") for part in path.parts}]


# -- the source as it is ----------------------------------------------------------------------------------------------


def test_imports_go_down_only(gateway: dict[str, str]) -> None:
    assert import_faults(gateway, gateway) == []


def test_every_part_is_in_the_drawing(gateway: dict[str, str]) -> None:
    assert {part_of(module) for module in gateway} - {""} <= set(HEIGHT)


def test_settings_are_handed_over_and_not_imported(gateway: dict[str, str]) -> None:
    users = {m for m, text in gateway.items() if "gatepost.settings" in set(imports(m, text, gateway))}
    assert {module for module in users if part_of(module) != "cli"} <= {
        "gatepost.app",
        "gatepost.cells.cell",
        "gatepost.cells.gateway",
        "gatepost.channel_worker",
        "gatepost.database_lifecycle",
        "gatepost.owner",
        "gatepost.housekeeping",
        "gatepost.network_factory",
        "gatepost.privileges",
        "gatepost.process_limits",
        "gatepost.processes.control",
        "gatepost.processes.port",
        "gatepost.processes.shares",
        "gatepost.processes.supervisor",
        "gatepost.serving",
        "gatepost.http_connections",
    }


def test_no_import_cycle(gateway: dict[str, str]) -> None:
    assert find_cycle(gateway) is None


def test_sql_lives_in_the_store(gateway: dict[str, str]) -> None:
    assert sql_faults(gateway) == []


def test_handlers_are_thin(gateway: dict[str, str]) -> None:
    assert long_handlers(gateway) == []


def test_networks_are_values(gateway: dict[str, str]) -> None:
    assert named_networks(gateway) == []


def test_every_file_keeps_to_one_idea(gateway: dict[str, str]) -> None:
    written = {module: text for module, text in gateway.items() if "Generated by `make" not in text[:200]}
    assert {module: len(text.splitlines()) for module, text in written.items() if text.count("\n") >= 400} == {}


def test_names_say_something() -> None:
    folders = (ROOT / "src", ROOT / "tests", ROOT / "bench", ROOT / "faults")
    paths = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*.py")]
    assert vague_names(paths) == []


# -- and each rule bites ----------------------------------------------------------------------------------------------


@for_each(
    ("module", "line"),
    [
        ("gatepost.model.message", "from gatepost.store import pool"),
        ("gatepost.model.message", "from gatepost.clock import Clock"),
        ("gatepost.store.messages.send", "import gatepost.outbound.channel_sender"),
        ("gatepost.store.messages.send", "from gatepost.networks.base import Network"),
        ("gatepost.outbound.channel_sender", "from gatepost.inbound import receive"),
        ("gatepost.outbound.channel_sender", "from gatepost.settings import Settings"),
        ("gatepost.outbound.channel_sender", "from ..webhooks import sign"),
        ("gatepost.api.health", "from gatepost.owner import Owner"),
        ("gatepost.app", "from gatepost_sandbox import create_app"),
        ("gatepost_sandbox.people", "from gatepost.model import ids"),
        ("gatepost_client.retry", "from gatepost.model import ids"),
        ("gatepost_client.verify", "from gatepost.webhooks.signature import decode_secret"),
        ("gatepost_client.http", "from gatepost_sandbox import create_app"),
        ("gatepost.api.health", "from gatepost_client import Gatepost"),
        ("gatepost.app", "from gatepost import cli"),
        ("gatepost.access.authentication", "from gatepost.api.errors import error_answer"),
        ("gatepost.access.authentication", "from litestar import Request"),
        ("gatepost.outbound.channel_sender", "def f():\n    import asyncpg"),
        ("gatepost.inbound.receive", "from litestar import get"),
        ("gatepost.services.messages", "from pyreqwest.client import Client"),
        ("gatepost.novelty.thing", "from gatepost.model import ids"),
    ],
)
def test_a_forbidden_import_is_found(gateway: dict[str, str], module: str, line: str) -> None:
    assert len(import_faults({module: line}, gateway)) == 1


@for_each(
    ("module", "line"),
    [
        ("gatepost.model.message", "from gatepost.model import ids"),
        ("gatepost.api.health", "from gatepost.store.pool import Database"),
        ("gatepost.cli.up", "from gatepost_sandbox import create_app"),
        ("gatepost.cli.up", "from gatepost_client import Gatepost"),
        ("gatepost_client.http", "from pyreqwest.client import SyncClientBuilder"),
        ("gatepost.store.pool", "import asyncpg"),
        ("gatepost.owner", "from gatepost.settings import Lease"),
        ("gatepost.api.app", "from gatepost import __version__"),
    ],
)
def test_an_allowed_import_passes(gateway: dict[str, str], module: str, line: str) -> None:
    assert import_faults({module: line}, gateway) == []


def test_a_cycle_is_found() -> None:
    wake = {"gatepost.a": "import gatepost.b", "gatepost.b": "from gatepost import c", "gatepost.c": "from . import a"}
    assert find_cycle(wake) is not None


def test_stray_sql_is_found_and_prose_is_not() -> None:
    assert sql_faults({"gatepost.services.x": 'q = f"SELECT {1} FROM messages"'}) == ["gatepost.services.x:1"]
    assert sql_faults({"gatepost.services.x": '"""An INSERT INTO the list."""'}) == []


def test_a_fat_handler_is_found() -> None:
    body = "\n".join(f"    x{i} = {i}" for i in range(12))
    handler = '@get("/x")\nasync def show() -> None:\n    """Shows."""\n'
    assert long_handlers({"gatepost.api.x": handler + body}) == []
    assert long_handlers({"gatepost.api.x": handler + body + "\n    return"}) == ["gatepost.api.x.show: 13 lines"]


def test_a_named_network_is_found() -> None:
    assert named_networks({"gatepost.api.x": 'a = channel.kind == "qr"'}) != []
    assert named_networks({"gatepost.api.x": "a = isinstance(network, QrNetwork)"}) != []
    assert named_networks({"gatepost.networks.x": 'a = channel.kind == "qr"'}) == []


def test_a_vague_name_is_found() -> None:
    assert vague_names([Path("src/gatepost/utils.py"), Path("src/gatepost/common/x.py"), Path("src/x.py")]) == [
        "src/gatepost/utils.py",
        "src/gatepost/common/x.py",
    ]
