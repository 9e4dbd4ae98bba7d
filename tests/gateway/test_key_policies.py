"""The policies of assistants' keys, and the switch that stops all assistants."""

from typing import Any

import pytest

from gatepost.api.contract.mcp import McpPolicy
from gatepost.model import ids
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import RULES
from gatepost.store.account_log import list_entries
from tests.docs.generate import FOLDER
from tests.for_each import for_each
from tests.gateway.checks import check_refused
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway

ACCESS = "/api/v1/account/mcp"
NOTHING = "0" * 32
DEFAULTS = {
    "mode": "draft",
    "dry_run": False,
    "recipients": {"anyone": False, "wrote_within_days": 30, "labels": [], "phones": []},
    "no_crossing": True,
    "sends_per_hour": 30,
    "sends_per_conversation": 10,
    "unanswered": 3,
    "quiet_hours": None,
    "types": None,
    "templates": None,
    "link_hosts": None,
    "files": False,
    "ends_at": None,
}


async def new_key(owner: Person, channel: str, *scopes: str) -> str:
    made = await owner.call("POST", f"/api/v1/account/channels/{channel}/keys", {"name": "Aide", "scopes": scopes})
    assert made.status == 201, made.body
    return f"/api/v1/account/channels/{channel}/keys/{made.json()['data']['id']}/policy"


async def entries(gateway: Gateway) -> list[tuple[str, str, Any]]:
    rows = await list_entries(gateway.db, gateway.account_id, before=None, limit=100)
    return [(row.action, row.target, row.details) for row in rows if row.action.startswith("mcp_")]


def test_the_answer_has_every_field_of_the_model() -> None:
    assert McpPolicy.__struct_fields__[: len(Policy.__struct_fields__)] == Policy.__struct_fields__


def test_every_field_and_every_rule_is_described() -> None:
    page = (FOLDER / "mcp.md").read_text()
    assert [name for name in (*Policy.__struct_fields__, *RULES) if f"`{name}`" not in page] == []


async def test_a_policy_is_read_replaced_and_logged(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    path = await new_key(owner, gateway.channel, "mcp")
    shown = (await owner.call("GET", path)).json()["data"]
    said = ["A person approves each message.", "It may write to people who wrote in the last 30 days."]
    assert shown["sentences"][:2] == said
    rest = {"sentences": shown["sentences"], "warning": None, "updated_at": None, "updated_by": None}
    assert shown == DEFAULTS | rest
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    hours = {"start": "22:00", "end": "07:00", "tz": "America/Sao_Paulo"}
    given = {
        "mode": "send",
        "recipients": {"wrote_within_days": None, "labels": [label], "phones": ["5511999998888"]},
        "quiet_hours": hours,
        "types": ["text"],
        "link_hosts": [],
        "ends_at": "2027-01-31T10:00:00+01:00",
    }
    answer = await owner.call("PUT", path, given)
    assert (answer.status, answer.json()["message"]) == (200, "Policy saved")
    saved = answer.json()["data"]
    assert saved["recipients"] == {"anyone": False, **given["recipients"]}  # type: ignore[dict-item]
    assert (saved["quiet_hours"], saved["types"], saved["link_hosts"]) == (hours, ["text"], [])
    assert (saved["ends_at"], saved["updated_by"]) == ("2027-01-31T09:00:00.000Z", owner.user.email)
    assert "It may write to people with the label “VIP” or one listed number." in saved["sentences"]
    for role in ("agent", "reader"):
        person = await new_person(gateway, role)
        assert (await person.call("GET", path)).json()["data"] == saved
        check_refused(await person.call("PUT", path, {}), 403, "missing_role")
    assert (await owner.call("PUT", path, given)).json()["data"] == saved  # the same again changes nothing
    back = (await owner.call("PUT", path, {})).json()["data"]
    assert {name: back[name] for name in DEFAULTS} == DEFAULTS
    logged = await entries(gateway)
    target = path.split("/")[-2]
    assert [(action, aim) for action, aim, _ in logged] == [("mcp_policy_changed", target)] * 2
    changed = ["mode", "recipients", "quiet_hours", "types", "link_hosts", "ends_at"]
    assert logged[1][2] == {"name": "Aide", "channel": gateway.channel, "mode": "send", "changed": changed}


async def test_a_key_with_other_scopes_has_a_warning_and_one_without_mcp_no_policy(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    both = await new_key(owner, gateway.channel, "mcp", "read")
    assert "where these scopes allow more" in (await owner.call("GET", both)).json()["data"]["warning"]
    assert (await owner.call("PUT", both, {})).json()["data"]["warning"]
    other = await new_key(owner, gateway.channel, "send", "read")
    check_refused(await owner.call("PUT", other, {}), 409, "wrong_state")
    assert len(await entries(gateway)) == 1


@for_each(
    ("field", "value", "fits"),
    [
        ("sends_per_hour", -1, False),
        ("sends_per_hour", 0, True),
        ("sends_per_hour", 10_000, True),
        ("sends_per_hour", 10_001, False),
        ("sends_per_conversation", 10_001, False),
        ("unanswered", 0, False),
        ("unanswered", 1, True),
        ("unanswered", 100, True),
        ("unanswered", 101, False),
        ("recipients.wrote_within_days", 0, False),
        ("recipients.wrote_within_days", 1, True),
        ("recipients.wrote_within_days", 365, True),
        ("recipients.wrote_within_days", 366, False),
        ("recipients.phones", [str(5511900000000 + number) for number in range(1000)], True),
        ("recipients.phones", [str(5511900000000 + number) for number in range(1001)], False),
        ("recipients.phones[0]", ["+55"], False),
        ("recipients.labels[0]", ["VIP"], False),
        ("recipients.labels[0]", ["lb_" + NOTHING], False),
        ("types[0]", ["fax"], False),
        ("link_hosts[0]", ["https://example.com"], False),
        ("quiet_hours.start", {"start": "24:00", "end": "07:00", "tz": "UTC"}, False),
        ("quiet_hours.tz", {"start": "22:00", "end": "07:00", "tz": "Mars"}, False),
        ("quiet_hours.end", {"start": "22:00", "end": "22:00", "tz": "UTC"}, False),
        ("ends_at", "9999-12-31T23:59:59Z", True),
        ("ends_at", "9999-12-31T23:59:59-01:00", False),
        ("ends_at", "0001-01-01T00:00:00+01:00", False),
        ("mode", "all", False),
        ("colour", 1, False),
    ],
)
async def test_limits(policy: tuple[Person, str], field: str, value: Any, fits: bool) -> None:
    owner, path = policy
    name = field.partition("[")[0]
    first, dot, second = name.partition(".")
    body = {first: {second: value} if dot and first == "recipients" else value}
    answer = await owner.call("PUT", path, body)
    if fits:
        assert answer.status == 200, answer.body
    else:
        check_refused(answer, 422, "invalid_field", field)


@pytest.fixture
async def policy(gateway: Gateway) -> tuple[Person, str]:
    """Give an owner, and the path of a policy."""
    owner = await new_person(gateway)
    return owner, await new_key(owner, gateway.channel, "mcp")


async def test_all_invalid_fields_are_named(policy: tuple[Person, str]) -> None:
    owner, path = policy
    answer = await owner.call("PUT", path, {"unanswered": 0, "sends_per_hour": -1, "types": ["text", "fax"]})
    assert [one["field"] for one in answer.json()["error"]["fields"]] == ["sends_per_hour", "unanswered", "types[1]"]


async def test_others_find_nothing(gateway: Gateway) -> None:
    account = await gateway.new_account()
    theirs = await gateway.new_channel(account, "15550002222", "100000000000002")
    owner, other = await new_person(gateway), await new_person(gateway, account_id=account)
    path = await new_key(owner, gateway.channel, "mcp")
    key = path.split("/")[-2]
    elsewhere = f"/api/v1/account/channels/{ids.format_id('ch', theirs.id)}/keys/{key}/policy"
    for person, aim in ((other, path), (other, elsewhere), (owner, elsewhere), (owner, path.replace(key, NOTHING))):
        for method, body in (("GET", None), ("PUT", {})):
            check_refused(await person.call(method, aim, body), 404, "not_found", about=(method, aim))
    foreign = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    mine = await new_key(other, ids.format_id("ch", theirs.id), "mcp")
    refused = await other.call("PUT", mine, {"recipients": {"labels": [foreign]}})
    check_refused(refused, 422, "invalid_field", "recipients.labels[0]")
    assert await entries(gateway) == []


async def test_the_switch_of_the_account(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    other = await new_person(gateway, account_id=await gateway.new_account())
    nobody = {"stopped_at": None, "stopped_by": None, "url": f"{gateway.url}/mcp"}
    assert (await agent.call("GET", ACCESS)).json()["data"] == nobody
    check_refused(await agent.call("PUT", ACCESS, {"stopped": True}), 403, "missing_role")
    for body in ({}, {"stopped": None}, {"stopped": "yes"}):
        check_refused(await owner.call("PUT", ACCESS, body), 422, "invalid_field", "stopped", about=body)
    check_refused(await owner.call("PUT", ACCESS, {"stopped": True, "more": 1}), 422, "invalid_field", "more")
    stopped = (await owner.call("PUT", ACCESS, {"stopped": True})).json()["data"]
    assert stopped["stopped_at"] is not None
    assert stopped["stopped_by"] == owner.user.email
    again = await (await new_person(gateway)).call("PUT", ACCESS, {"stopped": True})
    assert again.json()["data"] == stopped  # who stopped them first is kept
    assert (await agent.call("GET", ACCESS)).json()["data"] == stopped
    assert (await other.call("GET", ACCESS)).json()["data"]["stopped_at"] is None
    assert (await owner.call("PUT", ACCESS, {"stopped": False})).json()["data"] == nobody
    target = ids.format_id("acc", gateway.account_id)
    assert await entries(gateway) == [("mcp_resumed", target, {}), ("mcp_stopped", target, {})]
