"""The name of a cell, which its database carries: so no cell is used under the name of another, or as two cells."""

from collections.abc import Awaitable, Callable

from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict
from gatepost.store import cells as store
from gatepost.store.pool import Database


async def check_name(db: Database, name: str, *, unnamed: bool = False) -> None:
    """Raise unless the database is the cell of this name. The first one may have no name yet, others have `add_cell`.

    The database need not be migrated. With `unnamed`, any may have no name.
    """
    found = await store.read_cell_name(db)
    if found is None and name != MAIN and not unnamed:
        raise Conflict(
            f"The database of the cell {name} was not added to this gateway. If its address is right, run: "
            f"gatepost cell add {name}"
        )
    if found not in (None, name):
        raise _other(name, found)


async def add_cell(db: Database, name: str, migrate: Callable[[], Awaitable[object]]) -> bool:
    """Migrate and name an empty database. Return False if it has this name; raise if it is something else."""
    found = await store.read_cell_name(db)
    if found is None and await store.has_accounts(db):
        raise Conflict(
            f"The database at the address of {name} has accounts and no name: it is another gateway's. "
            "A cell begins with an empty database; correct the address in the section [cells]."
        )
    if found not in (None, name):
        raise _other(name, found)
    await migrate()
    now = await store.name_cell(db, name)
    if now != name:
        raise _other(name, now)
    return found is None


def _other(name: str, found: str | None) -> Conflict:
    return Conflict(
        f"The database at the address of the cell {name} is the cell {found}. Correct the address of {name} "
        f"({'database.url' if name == MAIN else 'in the section [cells]'}): each cell has a database of its own."
    )
