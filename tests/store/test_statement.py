"""Named parameters of statements."""

import pytest

from gatepost.store.statement import statement, statement_rows

TEXT = "UPDATE t SET a = :a::uuid[], b = '{\"c\":\"d\"}' WHERE id = :id AND :a IS NULL AND at > '10:30:00'"


def test_each_name_becomes_one_position() -> None:
    assert statement(TEXT, id=7, a=[1]) == (
        "UPDATE t SET a = $1::uuid[], b = '{\"c\":\"d\"}' WHERE id = $2 AND $1 IS NULL AND at > '10:30:00'",
        [1],
        7,
    )


@pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "id": 2, "more": 3}, {"a": 1, "other": 2}])
def test_every_parameter_has_a_value_and_every_value_is_used(values: dict[str, int]) -> None:
    with pytest.raises((TypeError, KeyError)):
        statement(TEXT, **values)


def test_rows_follow_the_order_of_the_positions() -> None:
    rows = [{"id": 1, "a": 2}, {"a": 4, "id": 3}]
    assert statement_rows("SELECT :a, :id, :a", rows) == ("SELECT $1, $2, $1", [(2, 1), (4, 3)])
