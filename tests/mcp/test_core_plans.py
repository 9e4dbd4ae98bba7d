"""The plans of every statement about assistants, on empty tables and on many rows, with statistics and without."""

from typing import Any

from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.mcp.core_rows import fill_rows, run_all
from tests.outbound.stage import NOW
from tests.store.conftest import explained, filled
from tests.store.query_plans import Explained, Plan, explained_database

__all__ = ["explained", "filled"]
ROWS = 40_000
# What a statement may read: pages of 50 rows with what belongs to them, and what counts in an hour.
MOST = 400
# These read what they change or count: all calls of a contact, all reads of a key, up to 1,000 drafts that wait.
WIDE = ("merge", "rotation", "judge: drafts that wait", "housekeeping", "drafts: waiting", "drafts: expired")


async def fill_database(url: str) -> None:
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    await fill_rows(url, ROWS)


def rows_read(plan: Plan) -> int:
    """Return how many rows the scans of a plan have read, wanted or not."""
    scans = [node for node in plan.nodes() if "Relation Name" in node and node["Node Type"] != "ModifyTable"]
    return int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in scans))


def scans_of_all(plan: Plan) -> list[str]:
    return [node["Relation Name"] for node in plan.nodes() if node["Node Type"] == "Seq Scan"]


async def test_nothing_is_read_that_is_not_needed(explained: Explained) -> None:
    found = await run_all(explained)
    assert len(found) > 40
    wrong: dict[str, Any] = {}
    for name, plan in found.items():
        if scans_of_all(plan) or rows_read(plan) > (4_000 if name.startswith(WIDE) else MOST):
            wrong[name] = (scans_of_all(plan), rows_read(plan), plan.query)
    assert wrong == {}


async def test_empty_tables(database_url: str) -> None:
    plain = await Database.connect(database_url, connections=1)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    async with explained_database(database_url) as found:
        plans = await run_all(found)
    assert {name for name, plan in plans.items() if scans_of_all(plan)} == set()
