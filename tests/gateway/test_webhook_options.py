"""How an endpoint wants its deliveries: every wish, its limits, and nothing changed where one is refused."""

import asyncio
from typing import Any

from tests.for_each import for_each
from tests.gateway.checks import check_refused
from tests.running_gateway import Gateway

HOOKS = "/api/v1/webhooks"
URL = "http://127.0.0.1:54321/"
PLAIN: dict[str, Any] = {"ordered": False, "batch": None, "rate_limit": None, "version": 1}
FULL: dict[str, Any] = {
    "ordered": True,
    "batch": {"most": 100, "wait": 1.0},
    "rate_limit": 1000,
    "version": 1,
}
GOOD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"batch": {"most": 1, "wait": 0}}, {"batch": None}),
    ({"batch": {"most": 2, "wait": 0}}, {"batch": {"most": 2, "wait": 0.0}}),
    ({"batch": {"most": 99}}, {"batch": {"most": 99, "wait": 1.0}}),
    ({"batch": {"wait": 0.999}}, {"batch": {"most": 100, "wait": 0.999}}),
    ({"batch": {}}, {"batch": {"most": 100, "wait": 1.0}}),
    ({"batch": None}, {"batch": None}),
    ({"rate_limit": 1}, {"rate_limit": 1}),
    ({"rate_limit": 999}, {"rate_limit": 999}),
    ({"rate_limit": 1000}, {"rate_limit": 1000}),
    ({"rate_limit": None}, {"rate_limit": None}),
    ({"version": 1}, {"version": 1}),
    ({"ordered": True}, {"ordered": True}),
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"batch": {"most": 0}}, "batch.most"),
    ({"batch": {"most": 101}}, "batch.most"),
    ({"batch": {"most": -1}}, "batch.most"),
    ({"batch": {"most": 1.5}}, "batch.most"),
    ({"batch": {"wait": -0.001}}, "batch.wait"),
    ({"batch": {"wait": 1.001}}, "batch.wait"),
    ({"batch": {"wait": "1"}}, "batch.wait"),
    ({"batch": {"size": 5}}, "batch.size"),
    ({"batch": 5}, "batch"),
    ({"rate_limit": 0}, "rate_limit"),
    ({"rate_limit": 1001}, "rate_limit"),
    ({"rate_limit": -1}, "rate_limit"),
    ({"rate_limit": 2.5}, "rate_limit"),
    ({"rate_limit": 10**30}, "rate_limit"),
    ({"version": 0}, "version"),
    ({"version": 2}, "version"),
    ({"ordered": 1}, "ordered"),
    ({"events": {"system_notification": "yes"}}, "events.system_notification"),
    ({"events": {"endpoint_notification": True}}, "events.endpoint_notification"),
    ({"operational": True}, "operational"),
]


def wishes_of(hook: dict[str, Any]) -> dict[str, Any]:
    return {name: hook[name] for name in PLAIN}


async def make(gateway: Gateway, **fields: Any) -> Any:
    answer = await gateway.call("POST", HOOKS, {"url": URL, **fields})
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def test_without_options_each_event_comes_alone_and_at_once(gateway: Gateway) -> None:
    hook = await make(gateway)
    assert wishes_of(hook) == PLAIN
    assert (hook["failing_since"], hook["failures"], hook["succeeded_at"], hook["next_probe_at"]) == (
        None,
        0,
        None,
        None,
    )


async def test_options_within_their_limits_are_accepted(gateway: Gateway) -> None:
    hooks = [(await make(gateway))["id"], (await make(gateway, **FULL))["id"]]
    for before, hook in zip((PLAIN, FULL), hooks, strict=True):
        for option, shown in GOOD:
            assert (await gateway.call("PATCH", f"{HOOKS}/{hook}", before)).status == 200
            answer = await gateway.call("PATCH", f"{HOOKS}/{hook}", option)
            assert answer.status == 200, (option, answer.body)
            assert wishes_of(answer.json()["data"]) == before | shown, option
    for option, shown in GOOD:
        made = await make(gateway, **option)
        assert wishes_of(made) == PLAIN | shown, option
        await gateway.call("DELETE", f"{HOOKS}/{made['id']}")


async def test_options_beyond_their_limits_change_nothing(gateway: Gateway) -> None:
    hook = (await make(gateway, **FULL))["id"]
    before = (await gateway.call("GET", f"{HOOKS}/{hook}")).json()["data"]
    for option, field in BAD:
        check_refused(
            await gateway.call("POST", HOOKS, {"url": URL, **option}), 422, "invalid_field", field, about=option
        )
        change = {"url": URL + "other", "headers": {"X-A": "1"}, "active": False, **option}
        answer = await gateway.call("PATCH", f"{HOOKS}/{hook}", change)
        check_refused(answer, 422, "invalid_field", field, about=option)
    assert (await gateway.call("GET", HOOKS)).json()["data"] == [before]


@for_each("change", [{"url": URL + "new"}, {"headers": {"X-A": "1"}}, {"active": False}, {}])
async def test_what_is_not_named_stays(gateway: Gateway, change: dict[str, Any]) -> None:
    hook = await make(gateway, **FULL, events={"order_notifications": False})
    changed = (await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", change)).json()["data"]
    assert wishes_of(changed) == FULL
    assert changed["events"] == hook["events"]


async def test_changes_at_the_same_time_are_all_kept(gateway: Gateway) -> None:
    hook = await make(gateway)
    off = ["message_notification", "chat_notification", "label_notifications"]
    changes: list[dict[str, Any]] = [{"events": {type_: False}} for type_ in off]
    changes += [{"events": {"system_notification": True}}, {"ordered": True}, {"rate_limit": 7}, {"batch": {"most": 2}}]
    await asyncio.gather(*(gateway.call("PATCH", f"{HOOKS}/{hook['id']}", change) for change in changes))
    after = (await gateway.call("GET", f"{HOOKS}/{hook['id']}")).json()["data"]
    assert [type_ for type_, on in after["events"].items() if not on] == off
    assert wishes_of(after) == FULL | {"batch": {"most": 2, "wait": 1.0}, "rate_limit": 7}


async def test_a_state_set_by_a_person_is_in_the_feed(gateway: Gateway) -> None:
    hook = await make(gateway)
    for active in (False, False, True):
        await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", {"active": active})
    seen = (await gateway.call("GET", "/api/v1/events?types=system_notification")).json()["data"]
    assert [(event["action"], event["data"]["id"], event["data"]["state"]) for event in seen] == [
        ("endpoint_disabled", hook["id"], "disabled"),
        ("endpoint_enabled", hook["id"], "active"),
    ]
