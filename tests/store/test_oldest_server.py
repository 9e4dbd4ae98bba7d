"""Statements work on the oldest PostgreSQL that is supported, although tests run on a newer one.

Only what newer parsers accept by themselves is checked: a storage in CREATE TABLE, and FROM (SELECT …) without a name.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from pglast import ast, parse_sql
from pglast.visitors import Visitor

from gatepost.store.migrate import OLDEST_SERVER
from gatepost.store.statement import statement_rows
from tests.store.sql.collect import Statement
from tests.store.test_scoped_statements import source, statements
from tests.test_architecture import ROOT

__all__ = ["source", "statements"]
MIGRATIONS = ROOT / "src" / "gatepost" / "store" / "migrations"


class NewerSyntax(Visitor):
    """Collects what PostgreSQL 15 does not parse."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def visit_ColumnDef(self, _: Any, node: ast.ColumnDef) -> None:
        if node.storage_name:
            self.found.append(f"storage of {node.colname}")

    def visit_RangeSubselect(self, _: Any, node: ast.RangeSubselect) -> None:
        if node.alias is None:
            self.found.append("a subquery without a name")


def newer_syntax(sql: str) -> list[str]:
    """Return what a text has that PostgreSQL 15 rejects."""
    visitor = NewerSyntax()
    visitor(parse_sql(sql))
    return visitor.found


def texts(statements: list[Statement]) -> Iterator[tuple[str, str]]:
    yield from ((str(place), statement_rows(text, ())[0]) for place, text in statements if text is not None)
    yield from ((path.name, path.read_text()) for path in sorted(MIGRATIONS.glob("*.sql")))


def test_statements_have_the_syntax_of_the_oldest_server(statements: list[Statement]) -> None:
    assert OLDEST_SERVER == 15
    assert {place: found for place, text in texts(statements) if (found := newer_syntax(text))} == {}


@pytest.mark.parametrize("sql", ["CREATE TABLE a (b text STORAGE PLAIN)", "SELECT 1 FROM (SELECT 2)"])
def test_newer_syntax_is_found(sql: str) -> None:
    assert len(newer_syntax(sql)) == 1
