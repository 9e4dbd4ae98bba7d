"""Labels in the API: created, changed, deleted, assigned and removed, with one event each; and what is refused."""

from typing import Any

from gatepost.model import ids
from gatepost.model.label import LABELS_MAX, PALETTE
from tests.gateway.checks import PERSON, check_refused, feed
from tests.running_gateway import Answer, Gateway

LABELS = "/api/v1/labels"


async def create(gateway: Gateway, name: str = "VIP", **more: Any) -> Any:
    """A label that was made."""
    made = await gateway.call("POST", LABELS, {"name": name, **more})
    assert made.status == 201, made.body
    return made.json()["data"]


async def meet(gateway: Gateway) -> Any:
    """Somebody to put labels on."""
    sent = await gateway.send(phone=PERSON, body="Hello")
    return (await gateway.call("GET", f"/api/v1/messages/{sent}")).json()["data"]


async def seen(gateway: Gateway) -> list[Any]:
    """What the feed says of labels."""
    return [(e["action"], e["data"]) for e in await feed(gateway) if e["type"] == "label_notifications"]


def plain(label: Any) -> Any:
    """A label as events name it."""
    return {name: label[name] for name in ("id", "name", "color")}


async def test_the_life_of_a_label(gateway: Gateway) -> None:
    first, second = await create(gateway), await create(gateway, "  Späte Zahler ", color="#AbCdEf")
    assert (first["name"], first["color"]) == ("VIP", PALETTE[0])
    assert (second["name"], second["color"]) == ("Späte Zahler", "#abcdef")
    listed = (await gateway.call("GET", LABELS)).json()
    assert (listed["data"], listed["paging"]) == ([second, first], {"next": None})
    path = f"{LABELS}/{first['id']}"
    assert (await gateway.call("GET", path)).json()["data"] == first
    changed = (await gateway.call("PATCH", path, {"name": "vip"})).json()["data"]
    assert plain(changed) == plain(first) | {"name": "vip"}
    for same in ({"name": "vip"}, {"color": PALETTE[0].upper()}, {}):
        assert (await gateway.call("PATCH", path, same)).json()["data"] == changed
    recolored = (await gateway.call("PATCH", path, {"color": "#000000"})).json()["data"]
    assert (await gateway.call("DELETE", path)).json()["data"] is None
    check_refused(await gateway.call("GET", path), 404, "not_found")
    check_refused(await gateway.call("DELETE", path), 404, "not_found")
    assert await seen(gateway) == [
        ("created", plain(first)),
        ("created", plain(second)),
        ("updated", plain(changed)),
        ("updated", plain(recolored)),
        ("deleted", plain(recolored)),
    ]


async def test_what_a_label_may_be(gateway: Gateway) -> None:
    await create(gateway, "x" * 64)
    path = f"{LABELS}/{(await create(gateway, 'other'))['id']}"
    for wrong in ("x" * 65, "", "  ", "a\x00b"):
        check_refused(await gateway.call("POST", LABELS, {"name": wrong}), 422, "invalid_field", "name", wrong)
        check_refused(await gateway.call("PATCH", path, {"name": wrong}), 422, "invalid_field", "name", wrong)
    for wrong in ("red", "#12345", "#1234567", "#12345g", "123456", "", "#123456\n"):
        check_refused(await gateway.call("POST", LABELS, {"name": "a", "color": wrong}), 422, "invalid_field", "color")
        check_refused(await gateway.call("PATCH", path, {"color": wrong}), 422, "invalid_field", "color", wrong)
    for name in ("X" * 64, "OTHER", " Other "):
        check_refused(await gateway.call("POST", LABELS, {"name": name}), 409, "wrong_state")
    check_refused(await gateway.call("PATCH", path, {"name": "X" * 64}), 409, "wrong_state")
    check_refused(await gateway.call("PATCH", path, {"name": None}), 422, "invalid_field", "name")
    check_refused(await gateway.call("POST", LABELS, {"name": "a", "size": 1}), 422, "invalid_field", "size")
    check_refused(await gateway.call("POST", LABELS, {}), 422, "invalid_field", "name")
    assert len(await seen(gateway)) == 2


async def test_a_channel_has_200_labels_at_most(gateway: Gateway) -> None:
    async with gateway.db.connection() as conn:
        await conn.execute(
            """INSERT INTO labels (channel_id, id, name, color, created_at, updated_at)
               SELECT id, gen_random_uuid(), 'No. ' || i, '#000000', now(), now()
               FROM channels, generate_series(1, $1::int) i""",
            LABELS_MAX - 1,
        )
    assert LABELS_MAX == 200
    last = await create(gateway, "the last")
    check_refused(await gateway.call("POST", LABELS, {"name": "one more"}), 409, "wrong_state")
    assert (await gateway.call("DELETE", f"{LABELS}/{last['id']}")).status == 200
    await create(gateway, "one more")
    assert len((await gateway.call("GET", LABELS)).json()["data"]) == LABELS_MAX


async def test_labels_on_conversations_and_contacts(gateway: Gateway) -> None:
    label, message = await create(gateway), await meet(gateway)
    conversation, contact = message["conversation"]["id"], message["contact"]["id"]
    on = (f"/api/v1/conversations/{conversation}/labels", f"/api/v1/contacts/{contact}/labels")
    for path in on:
        for _ in range(2):
            assert (await gateway.call("PUT", f"{path}/{label['id']}")).status == 200
    shown = (await gateway.call("GET", f"/api/v1/conversations/{conversation}")).json()["data"]
    assert shown["labels"] == [plain(label)]
    for _ in range(2):
        assert (await gateway.call("DELETE", f"{on[0]}/{label['id']}")).status == 200
    assert (await gateway.call("GET", f"/api/v1/conversations/{conversation}")).json()["data"]["labels"] == []
    assert (await gateway.call("DELETE", f"{LABELS}/{label['id']}")).status == 200
    assert await uses(gateway) == 0
    whom = {"contact": {"id": contact, "phone": PERSON, "name": None}, "conversation": {"id": conversation}}
    assert (await seen(gateway))[1:] == [
        ("assigned", plain(label) | whom | {"target": "conversation"}),
        ("assigned", plain(label) | whom | {"target": "contact"}),
        ("removed", plain(label) | whom | {"target": "conversation"}),
        ("deleted", plain(label)),
    ]


async def uses(gateway: Gateway) -> int:
    async with gateway.db.connection() as conn:
        return int(await conn.fetchval("SELECT count(*) FROM label_uses"))


async def test_what_is_somebody_elses_does_not_exist(gateway: Gateway) -> None:
    label, message = await create(gateway), await meet(gateway)
    stranger = await gateway.new_stranger()
    theirs = (await gateway.call("POST", LABELS, {"name": "VIP"}, key=stranger)).json()["data"]
    nobody, nothing = ids.format_id("cv", ids.ZERO), ids.format_id("lb", ids.ZERO)
    cv, ct = message["conversation"]["id"], message["contact"]["id"]
    before = await seen(gateway)
    for whom, what in ((cv, theirs["id"]), (cv, nothing), (nobody, label["id"]), (ct, label["id"]), (cv, "x")):
        for method in ("PUT", "DELETE"):
            gone: Answer = await gateway.call(method, f"/api/v1/conversations/{whom}/labels/{what}")
            check_refused(gone, 404, "not_found", about=(whom, what))
            gone = await gateway.call(method, f"/api/v1/contacts/{whom.replace('cv', 'ct')}/labels/{theirs['id']}")
            check_refused(gone, 404, "not_found", about=(whom, what))
    for method, body in (("GET", None), ("PATCH", {"name": "mine"}), ("DELETE", None)):
        gone = await gateway.call(method, f"{LABELS}/{label['id']}", body, key=stranger)
        check_refused(gone, 404, "not_found", about=method)
    gone = await gateway.call("PUT", f"/api/v1/conversations/{cv}/labels/{theirs['id']}", key=stranger)
    check_refused(gone, 404, "not_found")
    assert (await gateway.call("GET", LABELS, key=stranger)).json()["data"] == [theirs]
    assert (await seen(gateway), await uses(gateway)) == (before, 0)


async def test_scopes(gateway: Gateway) -> None:
    label, message = await create(gateway), await meet(gateway)
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id is not None
    reader = await gateway.new_key(channel_id, scopes=["read", "send"])
    manager = await gateway.new_key(channel_id, scopes=["manage"])
    one = f"{LABELS}/{label['id']}"
    on = f"/api/v1/conversations/{message['conversation']['id']}/labels/{label['id']}"
    for path in (LABELS, one):
        assert (await gateway.call("GET", path, key=reader)).status == 200
        check_refused(await gateway.call("GET", path, key=manager), 403, "missing_scope")
    changes = (("PUT", on, None), ("DELETE", on, None), ("PATCH", one, {"name": "b"}), ("DELETE", one, None))
    for method, path, body in (*changes, ("POST", LABELS, {"name": "c"})):
        check_refused(await gateway.call(method, path, body, key=reader), 403, "missing_scope", about=(method, path))
        assert (await gateway.call(method, path, body, key=manager)).status in (200, 201)
