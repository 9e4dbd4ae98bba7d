"""No code uses two cells at once, except what chooses among them or moves an account: read from the source.

Every part is made for one database and gets it from its maker. So only modules that know several databases, or an
address of one, could mix two cells; they are listed here.
"""

import ast
from collections.abc import Iterator

from tests.for_each import for_each
from tests.test_architecture import Sources, nodes
from tests.test_architecture import gateway as gateway_fixture

gateway = gateway_fixture  # every module with its text

# Modules that can see more than one cell, and what for.
SEVERAL = {
    "gatepost.admin.account_move": "moves an account from one cell to another",
    "gatepost.cells.cell": "one cell: its database and its parts",
    "gatepost.cells.directory": "asks each cell whether it has a credential",
    "gatepost.cells.front": "passes a request to one cell",
    "gatepost.cells.gateway": "makes and starts the parts of each cell",
    "gatepost.channel_worker": "uses of one database: each has connections of its own",
    "gatepost.cli.cell_databases": "opens the cells for commands",
    "gatepost.cli.cells": "the commands about cells",
    "gatepost.cli.command": "finds the cell of the record that a command names",
    "gatepost.cli.doctor": "checks one cell after the other",
    "gatepost.cli.secret_key": "rotates the key of one cell after the other",
    "gatepost.cli.tail": "shows the events of all cells",
    "gatepost.database_lifecycle": "settings of the embedded server, and the advice to set database.url",
    "gatepost.processes.gateway_process": "runs the parts of all cells in one process",
    "gatepost.processes.supervisor": "removes the leases of a process that ended, in one cell after the other",
    "gatepost.serving": "runs the parts of all cells in one process",
    "gatepost.settings": "checks the names of cells",
    "gatepost.store.pooling": "two connections to the same address",
}
# Modules that connect to an address. Everything else gets its database.
CONNECTS = {
    "gatepost.cells.gateway": "each cell",
    "gatepost.cli.cell_databases": "each cell",
    "gatepost.cli.cells": "a cell that is added or checked",
    "gatepost.cli.doctor": "the first database",
    "gatepost.database_lifecycle": "the first database",
    "gatepost.networks.qr.phone.by_baileys.devices": "the device store of one cell, in a process of its own",
    "gatepost.networks.qr.phone.by_neonize.devices": "the device store of one cell, in a process of its own",
    "gatepost.processes.gateway_process": "the first database",
    "gatepost.processes.supervisor": "each cell",
    "gatepost.store.access_probe": "whether others can read a database",
    "gatepost.store.backup.table_data": "a copy of one database",
    "gatepost.store.channel_notifier": "notifications of its own cell",
    "gatepost.store.devices": "the device store of its own cell",
    "gatepost.store.embedded.ready": "the embedded server",
    "gatepost.store.migrate": "the database to migrate",
    "gatepost.store.pool": "the pool of one database",
    "gatepost.store.pooling": "whether a pooler is between",
}
_DATABASES = {
    "Database",
    "Connection",
    "Queryable",
    "RawConnection",
    "ChannelTransaction",
    "MovePlace",
    "Cell",
    "Gatepost",
}
_COLLECTIONS = {"CellDatabases", "CellGateway"}
_THEIR_MODULES = (
    "asyncpg",
    "gatepost.admin.account_move",
    "gatepost.app",
    "gatepost.cells.",
    "gatepost.cli.cell_databases",
    "gatepost.store.",
)
_OPENS = {"Database.connect", "asyncpg.connect", "asyncpg.create_pool", "opened_migrated"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def see_several(sources: Sources) -> set[str]:
    """Return the modules that import the cells, read their addresses, or have a value with more than one database."""
    return {module for module, text in sources.items() if _sees_several(module, text)}


def connect(sources: Sources) -> set[str]:
    """Return the modules that open a connection to an address."""
    return {
        module
        for module, text in sources.items()
        if any(name.rpartition(".")[2] in text for name in _OPENS)
        for node in nodes(text)
        if isinstance(node, ast.Call) and _dotted(node.func) in _OPENS
    }


def _sees_several(module: str, text: str) -> bool:
    if "settings.cells" in text:
        return True
    if not any(name in text for name in (*_DATABASES, *_COLLECTIONS, "gatepost.cells")):
        return False
    names = list(_names(module, ast.parse(text)))
    if not module.startswith("gatepost.cells.") and any(origin.startswith("gatepost.cells.") for _, origin in names):
        return True
    known = {name for name, origin in names if origin.startswith(_THEIR_MODULES)} & (_DATABASES | _COLLECTIONS)
    return bool(known) and any(_are_several(kinds, known) for kinds in _kinds_together(ast.parse(text)))


def _names(module: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a module imports or defines, with the modules that they are from."""
    for node in tree.body:
        for one in node.body if isinstance(node, ast.If) else [node]:  # TYPE_CHECKING
            if isinstance(one, ast.ImportFrom) and one.module is not None:
                yield from ((alias.asname or alias.name, one.module) for alias in one.names)
            elif isinstance(one, ast.Import):
                yield from (("Connection", alias.name) for alias in one.names if alias.name == "asyncpg")
            elif isinstance(one, ast.ClassDef):
                yield one.name, module


def _kinds_together(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """Yield the types of the parameters of each function, of the fields of each class, and of each variable."""
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield [one.annotation for one in arguments if one.annotation is not None]
        elif isinstance(node, ast.ClassDef):
            yield [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
        elif isinstance(node, ast.AnnAssign):
            yield [node.annotation]


def _are_several(kinds: list[ast.expr], known: set[str]) -> bool:
    """Return whether values of these types have more than one database together: two, or a collection of them."""
    databases = 0
    for kind in kinds:
        quoted = isinstance(kind, ast.Constant) and isinstance(kind.value, str)
        tree = ast.parse(str(kind.value), mode="eval") if isinstance(kind, ast.Constant) and quoted else kind
        inside = {name for node in ast.walk(tree) if isinstance(node, ast.Subscript) for name in _used(node.slice)}
        used = set(_used(tree)) & known
        if used & (inside | _COLLECTIONS):
            return True
        databases += bool(used)
    return databases > 1


def _used(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _dotted(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


# -- the source as it is ----------------------------------------------------------------------------------------------


def test_only_these_modules_can_see_several_cells(gateway: dict[str, str]) -> None:
    assert see_several(gateway) == set(SEVERAL)


def test_only_these_modules_connect_to_an_address(gateway: dict[str, str]) -> None:
    assert connect(gateway) == set(CONNECTS)


def test_no_part_that_serves_an_account_is_among_them() -> None:
    parts = ("api", "mcp", "access", "outbound", "inbound", "webhooks", "services", "owner")
    assert [module for module in {**SEVERAL, **CONNECTS} if module.split(".")[1] in parts] == []


# -- and each rule bites ----------------------------------------------------------------------------------------------

_IMPORT = "from gatepost.store.pool import Connection, Database\n"


@for_each(
    "text",
    [
        "from gatepost.cells.directory import CellDirectory",
        "def f(settings: Settings) -> int: return len(settings.cells)",
        "def f(self) -> int: return len(self._settings.cells)",
        "async def copy(source: Database, target: Database) -> None: ...",
        'async def copy(db: Database, *, other: "Connection[Any]") -> None: ...',
        "async def ask(dbs: Sequence[Database]) -> None: ...",
        "class Pair:\n    old: Database\n    new: Database",
        "class All:\n    databases: dict[str, Database]",
        "def f() -> None:\n    found: list[Database] = []",
    ],
)
def test_a_module_that_sees_several_cells_is_found(text: str) -> None:
    assert see_several({"gatepost.services.novelty": _IMPORT + text}) != set()


@for_each(
    "line", ["db = await Database.connect(dsn)", "conn = await asyncpg.connect(dsn)", "a = opened_migrated(dsn, s)"]
)
def test_a_module_that_connects_is_found(line: str) -> None:
    assert connect({"gatepost.services.novelty": f"{_IMPORT}async def f() -> None:\n    {line}"}) != set()


def test_a_module_with_one_database_is_not_found() -> None:
    text = _IMPORT + 'async def f(db: Database, conn_of: "Callable[[], int]") -> None:\n    await db.connect()'
    assert see_several({"gatepost.services.novelty": text}) | connect({"gatepost.services.novelty": text}) == set()
