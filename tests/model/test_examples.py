"""The examples of the docs are requests that pass, one of every type."""

import re
from pathlib import Path
from typing import Any

import msgspec

from gatepost.model.send_request import MESSAGE_TYPES, TYPES
from tests.for_each import for_each

from .sends import check

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
BLOCKS: list[str] = re.findall(r"```json\n(\{\"type\": .*?)```", PAGE, re.DOTALL)
EXAMPLES: list[dict[str, Any]] = [
    msgspec.json.decode(line) for block in BLOCKS for line in re.split(r"\n(?=\{)", block.strip())
]


def test_there_is_one_of_every_type() -> None:
    assert {example["type"] for example in EXAMPLES} == set(TYPES)
    assert len(EXAMPLES) > len(TYPES)


@for_each("example", EXAMPLES)
def test_each_example_passes(example: dict[str, Any]) -> None:
    own = {name: value for name, value in example.items() if name != "type"}
    assert msgspec.json.decode(check(example["type"], own).content) == own


def test_the_table_of_types_lists_the_fields_of_each() -> None:
    rows = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\*\*.*?) \|", PAGE, re.MULTILINE))
    seen = {name: fields for names, fields in rows.items() for name in re.findall(r"`(\w+)`", names)}
    assert set(seen) == set(TYPES)
    for type_, kind in MESSAGE_TYPES.items():
        assert tuple(re.findall(r"`(\w+)`", seen[type_])) == kind.fields
        assert tuple(re.findall(r"\*\*`(\w+)`\*\*", seen[type_])) == tuple(kind.required)
