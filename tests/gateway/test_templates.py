"""Templates in the API: submitted, reviewed by the network, changed and deleted; and what is refused."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from gatepost.store.network_updates import STALE_TEMPLATES
from gatepost_sandbox import SandboxSettings
from tests.gateway.checks import check_refused, until
from tests.running_gateway import Answer, Gateway, running_gateway

TEMPLATES = "/api/v1/templates"
WABA = "200000000000001"
REVIEW = 60.0
NEW: dict[str, Any] = {
    "name": "order_sent",
    "language": "en_US",
    "category": "UTILITY",
    "components": [
        {
            "type": "BODY",
            "text": "Hello {{1}}, your order {{2}} has left our house today.",
            "example": {"body_text": [["Ana", "4711"]]},
        },
        {"type": "FOOTER", "text": "Thank you for your trust"},
    ],
}
OTHER_BODY = {"type": "BODY", "text": "Your order has left our house and will arrive tomorrow."}


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose channel has a business account, at a network that reviews in a minute of its own clock."""
    network = msgspec.convert(
        {"management": {"review_delay": REVIEW, "reject_pattern": "lottery"}, "callbacks": {"connections": 1}},
        SandboxSettings,
    )
    async with running_gateway(parted_database_url, sandbox=network) as one:
        channel = await one.new_channel(one.account_id, "15550007777", "100000000000007", waba_id=WABA)
        one.key = await one.new_key(channel.id)
        yield one


async def create(gateway: Gateway, **changes: Any) -> Any:
    """A template that was taken."""
    made = await gateway.call("POST", TEMPLATES, NEW | changes)
    assert made.status == 201, made.body
    return made.json()["data"]


async def get(gateway: Gateway, template: Any) -> Any:
    found = await gateway.call("GET", f"{TEMPLATES}/{template['id']}")
    assert found.status == 200, found.body
    return found.json()["data"]


async def review(gateway: Gateway) -> None:
    """The network has had its time; its callbacks are in."""
    await gateway.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})


async def approved(gateway: Gateway, **changes: Any) -> Any:
    template = await create(gateway, **changes)
    await review(gateway)
    return await status_of(gateway, template, "APPROVED")


async def status_of(gateway: Gateway, template: Any, wanted: str) -> Any:
    """The template, once it has a status."""

    async def there() -> Any:
        found = await get(gateway, template)
        return found if found["status"] == wanted else None

    return await until(there)


async def names(gateway: Gateway, query: str = "") -> list[str]:
    listed = await gateway.call("GET", TEMPLATES + query)
    assert listed.status == 200, listed.body
    return [template["name"] for template in listed.json()["data"]]


async def decide(gateway: Gateway, template: Any, what: str, body: Any) -> None:
    await gateway.sandbox("POST", f"/control/templates/{template['network_id']}/{what}", body)


# -- the life of a template -------------------------------------------------------------------------------------------


async def test_a_template_is_reviewed_and_approved(gateway: Gateway) -> None:
    made = await create(gateway)
    assert made["id"].startswith("tpl_")
    assert made["network_id"].isdigit()
    assert (made["status"], made["quality"], made["reason"]) == ("PENDING", "UNKNOWN", None)
    assert (made["parameter_format"], made["components"]) == ("POSITIONAL", NEW["components"])
    assert await get(gateway, made) == made
    await review(gateway)
    found = await status_of(gateway, made, "APPROVED")
    assert found["updated_at"] > made["updated_at"]
    changing = ("status", "updated_at")
    assert {k: v for k, v in found.items() if k not in changing} == {k: v for k, v in made.items() if k not in changing}


async def test_a_rejection_says_why_and_can_be_fixed(gateway: Gateway) -> None:
    won = {"type": "BODY", "text": "You have won the lottery of our gateway this week."}
    made = await create(gateway, components=[won])
    await review(gateway)
    rejected = await status_of(gateway, made, "REJECTED")
    assert "ABUSIVE_CONTENT" in rejected["reason"]
    change = {"components": [OTHER_BODY], "category": "marketing"}
    edited = await gateway.call("PATCH", f"{TEMPLATES}/{made['id']}", change)
    assert edited.status == 200, edited.body
    data = edited.json()["data"]
    assert (data["id"], data["status"], data["reason"]) == (made["id"], "PENDING", None)
    assert (data["components"], data["category"]) == ([OTHER_BODY], "MARKETING")
    await review(gateway)
    assert (await status_of(gateway, made, "APPROVED"))["components"] == [OTHER_BODY]


async def test_quality_category_and_pauses_come_by_callback(gateway: Gateway) -> None:
    made = await approved(gateway)
    await decide(gateway, made, "category", {"category": "MARKETING"})
    await decide(gateway, made, "quality", {"quality": "RED"})
    paused = await status_of(gateway, made, "PAUSED")
    assert (paused["quality"], paused["category"]) == ("RED", "MARKETING")
    assert "FIRST_PAUSE" in paused["reason"]
    await gateway.sandbox("POST", "/control/clock", {"advance": 3 * 3600 + 1})
    await status_of(gateway, made, "APPROVED")


async def test_a_deleted_template_is_gone_on_both_sides(gateway: Gateway) -> None:
    made = await create(gateway)
    kept = await create(gateway, language="pt_BR")
    gone = await gateway.call("DELETE", f"{TEMPLATES}/{made['id']}")
    assert (gone.status, gone.json()["data"]) == (200, None)
    check_refused(await gateway.call("GET", f"{TEMPLATES}/{made['id']}"), 404, "not_found")
    check_refused(await gateway.call("DELETE", f"{TEMPLATES}/{made['id']}"), 404, "not_found")
    there = await gateway.sandbox("GET", f"/control/templates?waba_id={WABA}")
    assert [t["language"] for t in there if t["name"] == "order_sent"] == ["pt_BR"]
    assert (await get(gateway, kept))["language"] == "pt_BR"


async def test_a_sync_takes_over_what_the_network_has(gateway: Gateway) -> None:
    stock = {template["name"] for template in await gateway.sandbox("GET", f"/control/templates?waba_id={WABA}")}
    first = (await gateway.call("POST", TEMPLATES + "/sync")).json()
    assert first["data"] == {"added": len(stock), "changed": 0, "deleted": 0, "unchanged": 0}
    made = await create(gateway)
    again = (await gateway.call("POST", TEMPLATES + "/sync")).json()["data"]
    assert again == {"added": 0, "changed": 0, "deleted": 0, "unchanged": len(stock) + 1}
    gone = await gateway.call(
        "DELETE", f"{gateway.sandbox_url}/v25.0/{WABA}/message_templates?name=order_sent", key="token"
    )
    assert gone.status == 200, gone.body
    assert set(await names(gateway)) == stock | {"order_sent"}
    last = (await gateway.call("POST", TEMPLATES + "/sync")).json()["data"]
    assert (last["deleted"], last["unchanged"]) == (1, len(stock))
    assert set(await names(gateway)) == stock
    check_refused(await gateway.call("GET", f"{TEMPLATES}/{made['id']}"), 404, "not_found")


async def test_lists_have_filters_and_pages(gateway: Gateway) -> None:
    await create(gateway, name="one")
    await create(gateway, name="two", language="pt_BR", category="MARKETING", components=[OTHER_BODY])
    third = {"type": "BODY", "text": "We have received your order and thank you for it."}
    await approved(gateway, name="three", components=[third])
    assert await names(gateway) == ["three", "two", "one"]
    assert await names(gateway, "?name=o") == ["two", "one"]
    assert await names(gateway, "?language=pt_BR") == ["two"]
    assert await names(gateway, "?category=marketing&status=approved") == ["two"]
    assert await names(gateway, "?status=PAUSED") == []
    page = (await gateway.call("GET", TEMPLATES + "?limit=2")).json()
    rest = (await gateway.call("GET", f"{TEMPLATES}?limit=2&cursor={page['paging']['next']}")).json()
    assert [t["name"] for t in page["data"] + rest["data"]] == ["three", "two", "one"]
    assert rest["paging"]["next"] is None
    check_refused(await gateway.call("GET", TEMPLATES + "?cursor=zzz"), 400, "invalid_cursor")
    check_refused(await gateway.call("GET", TEMPLATES + "?limit=101"), 422, "invalid_field", "limit")
    check_refused(await gateway.call("GET", TEMPLATES + "?name=%00"), 422, "invalid_field", "name")


async def test_a_preview_shows_what_the_person_will_see(gateway: Gateway) -> None:
    made = await create(gateway)

    async def preview(option: Any) -> Answer:
        return await gateway.call("POST", f"{TEMPLATES}/{made['id']}/preview", option)

    shown = (await preview({"variables": ["Bia", "4712"]})).json()["data"]
    assert shown["body"] == "Hello Bia, your order 4712 has left our house today."
    assert shown["footer"] == "Thank you for your trust"
    assert (await preview({})).json()["data"]["body"].startswith("Hello Ana, your order 4711")
    wrong = await preview({"variables": ["Bia"]})
    check_refused(wrong, 422, "template_variables_mismatch", "variables")
    check_refused(await preview({"variables": "Bia"}), 422, "invalid_field", "variables")
    check_refused(await preview({"variables": ["Bia", "4\n7"]}), 422, "invalid_field", "variables[1]")
    check_refused(await gateway.call("POST", TEMPLATES + "/tpl_none/preview", {}), 404, "not_found")


# -- refusals ---------------------------------------------------------------------------------------------------------


async def test_what_breaks_a_rule_never_reaches_the_network(gateway: Gateway) -> None:
    long = "Hello {{1}}, this is a long text. " + "x" * 1024
    over = {"type": "BODY", "text": long[:1025], "example": {"body_text": [["Ana"]]}}
    at = {"type": "BODY", "text": long[:1024], "example": {"body_text": [["Ana"]]}}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "Order Sent"}, "name"),
        ({"name": "x" * 513}, "name"),
        ({"language": "english"}, "language"),
        ({"category": "SPAM"}, "category"),
        ({"components": []}, "components"),
        ({"components": [over]}, "components[0].text"),
        ({"components": [{"type": "BODY", "text": "Hello {{1}}, how are you today?"}]}, "components[0].example"),
        ({"surprise": 1}, "surprise"),
    ]
    for change, field in wrong:
        answer = await gateway.call("POST", TEMPLATES, NEW | change)
        error = answer.json()["error"]
        assert (answer.status, error["code"]) == (422, "invalid_field"), (change, answer.body)
        assert error["fields"][0]["field"].startswith(field), (change, answer.body)
        assert "network" not in error
    assert await names(gateway) == []
    there = await gateway.sandbox("GET", f"/control/templates?waba_id={WABA}")
    assert "order_sent" not in {template["name"] for template in there}
    await create(gateway, name="x" * 512, components=[at])


async def test_a_refusal_has_the_text_of_the_network(gateway: Gateway) -> None:
    made = await approved(gateway)
    await gateway.call("DELETE", f"{TEMPLATES}/{made['id']}")
    answer = await gateway.call("POST", TEMPLATES, NEW)
    error = check_refused(answer, 422, "network_refused")
    assert error["retryable"] is False
    assert error["network"]["code"] == 100
    assert "30 days" in error["network"]["details"]
    assert error["network"]["details"] in answer.json()["message"]
    assert await names(gateway) == []


async def test_the_report_of_a_deletion_does_not_make_others_stale(gateway: Gateway) -> None:
    made = await approved(gateway)
    assert (await gateway.call("DELETE", f"{TEMPLATES}/{made['id']}")).status == 200
    await gateway.sandbox("POST", "/control/clock", {"advance": 0})  # the network has reported it
    assert await gateway.db.fetchval("SELECT count(*) FROM channels WHERE state ? $1", STALE_TEMPLATES) == 0
    assert await names(gateway) == []


async def test_a_name_is_taken_once(gateway: Gateway) -> None:
    await create(gateway)
    taken = await gateway.call("POST", TEMPLATES, NEW)
    check_refused(taken, 409, "wrong_state")
    assert "sync" in taken.json()["message"]
    assert await names(gateway) == ["order_sent"]


async def test_edits_fit_the_status(gateway: Gateway) -> None:
    made = await create(gateway)
    path = f"{TEMPLATES}/{made['id']}"
    check_refused(await gateway.call("PATCH", path, {"components": [OTHER_BODY]}), 409, "wrong_state")
    await review(gateway)
    await status_of(gateway, made, "APPROVED")
    check_refused(await gateway.call("PATCH", path, {"category": "MARKETING"}), 409, "wrong_state")
    check_refused(await gateway.call("PATCH", path, {}), 422, "invalid_field", "body")
    check_refused(await gateway.call("PATCH", path, {"category": "SPAM"}), 422, "invalid_field", "category")
    ttl = {"message_send_ttl_seconds": 43_201}
    check_refused(await gateway.call("PATCH", path, ttl), 422, "invalid_field", "message_send_ttl_seconds")
    broken = await gateway.call("PATCH", path, {"components": [{"type": "BODY", "text": "{{1}}"}]})
    assert broken.json()["error"]["fields"][0]["field"].startswith("components[0]")
    assert (await gateway.call("PATCH", path, {"components": [OTHER_BODY]})).status == 200
    await review(gateway)
    await status_of(gateway, made, "APPROVED")
    again = await gateway.call("PATCH", path, {"message_send_ttl_seconds": 43_200})
    error = check_refused(again, 422, "network_refused")
    assert "24 hours" in error["network"]["details"]
    assert (await get(gateway, made))["status"] == "APPROVED"


async def test_a_network_that_is_away(gateway: Gateway) -> None:
    channel = await gateway.new_channel(gateway.account_id, "15550008888", "100000000000008", waba_id="200000000000002")
    async with gateway.db.connection() as conn:
        await conn.execute(
            "UPDATE channels SET network = network || $2::jsonb WHERE id = $1",
            channel.id,
            '{"base_url": "http://127.0.0.1:9"}',
        )
    gateway.key = await gateway.new_key(channel.id)
    for call in (("POST", TEMPLATES, NEW), ("POST", TEMPLATES + "/sync"), ("GET", "/api/v1/channel/profile")):
        answer = await gateway.call(*call)
        error = check_refused(answer, 503, "network_unavailable")
        assert error["retryable"] is True
        assert int(answer.headers["retry-after"]) > 0
    assert await names(gateway) == []


async def test_what_is_somebody_elses_is_not_found(gateway: Gateway) -> None:
    made = await create(gateway)
    stranger = await gateway.new_channel(await gateway.new_account(), "15550009999", "100000000000009", waba_id=WABA)
    gateway.key = await gateway.new_key(stranger.id)
    path = f"{TEMPLATES}/{made['id']}"
    for method, where, body in (
        ("GET", path, None),
        ("PATCH", path, {"components": [OTHER_BODY]}),
        ("DELETE", path, None),
        ("POST", path + "/preview", {}),
    ):
        check_refused(await gateway.call(method, where, body), 404, "not_found", about=method)
    assert await names(gateway) == []


async def test_which_channels_have_templates(gateway: Gateway) -> None:
    qr = await gateway.new_key((await gateway.new_qr_channel(gateway.account_id)).id)
    bare = await gateway.new_channel(gateway.account_id, "15550006666", "100000000000006")
    bare_key = await gateway.new_key(bare.id)
    for key in (qr, bare_key):
        for path in (TEMPLATES, TEMPLATES + "/sync"):
            check_refused(await gateway.call("POST", path, NEW, key=key), 422, "unsupported_on_channel")
    check_refused(await gateway.call("GET", TEMPLATES, key=qr), 422, "unsupported_on_channel")
    seen = (await gateway.call("POST", TEMPLATES + "/sync", key=bare_key)).json()["message"]
    assert "gatepost channel network" in seen
    assert "--waba-id" in seen


async def test_scopes(gateway: Gateway) -> None:
    made = await create(gateway)
    async with gateway.db.connection() as conn:
        channel_id = await conn.fetchval("SELECT channel_id FROM templates LIMIT 1")
    reader = await gateway.new_key(channel_id, scopes=["read"])
    path = f"{TEMPLATES}/{made['id']}"
    assert (await gateway.call("GET", path, key=reader)).status == 200
    assert (await gateway.call("POST", path + "/preview", {}, key=reader)).status == 200
    for method, where in (("POST", TEMPLATES), ("PATCH", path), ("DELETE", path), ("POST", TEMPLATES + "/sync")):
        check_refused(await gateway.call(method, where, {}, key=reader), 403, "missing_scope", about=where)


async def test_a_check_creates_nothing(gateway: Gateway) -> None:
    found = (await gateway.call("POST", f"{TEMPLATES}/check", NEW)).json()["data"]
    assert (found["valid"], found["problems"]) == (True, [])
    assert found["preview"]["body"] == "Hello Ana, your order 4711 has left our house today."
    assert (await gateway.call("GET", TEMPLATES)).json()["data"] == []
    wrong = NEW | {"name": "Order Sent", "language": "x" * 99, "components": [{"type": "BODY", "text": "Hello {{1}}"}]}
    found = (await gateway.call("POST", f"{TEMPLATES}/check", wrong)).json()["data"]
    assert (found["valid"], found["preview"]) == (False, None)
    refused = check_refused_fields(await gateway.call("POST", TEMPLATES, wrong))
    assert found["problems"] == refused
    assert {"name", "language"} < {problem["field"] for problem in refused}
    await create(gateway)
    found = (await gateway.call("POST", f"{TEMPLATES}/check", NEW)).json()["data"]
    assert (found["valid"], [problem["field"] for problem in found["problems"]]) == (False, ["name"])


def check_refused_fields(answer: Answer) -> Any:
    assert answer.status == 422, answer.body
    return answer.json()["error"]["fields"]
