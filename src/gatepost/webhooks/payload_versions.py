"""Versions of the payload. Events are kept in the newest; an endpoint that is pinned to an older one gets it from here.

kept (newest) ─► step to the version before ─► … ─► the endpoint's own

Each step is a pure function from one version's event to that of the version before. There is one version today, and so
no step: a second one adds a row, and nothing else in the house changes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gatepost.model.endpoint import VERSIONS

Step = Callable[[dict[str, Any]], dict[str, Any]]
NEWEST = VERSIONS[-1]
STEPS: Mapping[int, Step] = {}  # version → makes of the version after it one of this version


def body_for(version: int, body: bytes) -> bytes:
    """An event, as it is kept, in the version that an endpoint wants."""
    if version >= NEWEST:
        return body
    return step_down(body, [STEPS[step] for step in range(NEWEST - 1, version - 1, -1)])


def step_down(body: bytes, steps: list[Step]) -> bytes:
    """An event after these steps, the one from the newest version first."""
    event: dict[str, Any] = msgspec.json.decode(body)
    for step in steps:
        event = step(event)
    return msgspec.json.encode(event)
