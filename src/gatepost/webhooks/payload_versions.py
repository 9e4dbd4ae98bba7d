"""Payload versions. Events are stored in the newest; an endpoint that is pinned to an older one gets it from here.

stored (newest) ─► step to the version before ─► … ─► the endpoint's version

Each step is a pure function from the event of one version to that of the version before. There is only one version
today, and so no step; a second version adds a row to STEPS.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gatepost.model.endpoint import VERSIONS

Step = Callable[[dict[str, Any]], dict[str, Any]]
NEWEST = VERSIONS[-1]
STEPS: Mapping[int, Step] = {}  # version → the step to it from the version after it


def body_for(version: int, body: bytes) -> bytes:
    """Return a stored event in the version of an endpoint."""
    if version >= NEWEST:
        return body
    return step_down(body, [STEPS[step] for step in range(NEWEST - 1, version - 1, -1)])


def step_down(body: bytes, steps: list[Step]) -> bytes:
    """Return an event after these steps, the one from the newest version first."""
    event: dict[str, Any] = msgspec.json.decode(body)
    for step in steps:
        event = step(event)
    return msgspec.json.encode(event)
