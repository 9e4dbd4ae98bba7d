"""Versions of the payload: the newest as it is kept, an older one step by step."""

import msgspec

from gatepost.model.endpoint import VERSIONS
from gatepost.model.event.catalog import EVENTS
from gatepost.model.event.schema import example_of
from gatepost.webhooks.event_batch import NEWEST, STEPS, body_for, step_down


def test_the_newest_version_is_the_stored_bytes() -> None:
    for type_, actions in EVENTS.items():
        for action in actions:
            body = example_of(type_, action)
            assert body_for(NEWEST, body) is body


def test_there_is_a_step_to_every_older_version() -> None:
    assert set(STEPS) == set(VERSIONS[:-1])


def test_steps_follow_one_another() -> None:
    def rename(event: dict[str, object]) -> dict[str, object]:
        return {("kind" if name == "type" else name): value for name, value in event.items()}

    def mark(event: dict[str, object]) -> dict[str, object]:
        return event | {"was": event["kind"]}

    body = msgspec.json.encode({"type": "x", "sequence": 1})
    assert step_down(body, [rename, mark]) == b'{"kind":"x","sequence":1,"was":"x"}'
