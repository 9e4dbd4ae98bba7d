"""The events as people and machines read them: a page that needs nothing from elsewhere, and a schema of each type."""

import re

import jsonschema_rs

from gatepost.model.event import ALL_TYPES
from gatepost.model.event.catalog import EVENTS
from tests.events import published_schema
from tests.gateway.checks import TEXT, check_refused, feed
from tests.running_gateway import Gateway

PAGE = "/docs/events"


async def test_a_schema_of_each_type_is_served_to_anyone(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    events = await feed(gateway)
    for type_ in ALL_TYPES:
        answer = await gateway.call("GET", f"{PAGE}/{type_}.json", key="")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("application/schema+json")
        assert answer.json() == published_schema(type_)
        fits = jsonschema_rs.validator_for(answer.json()).is_valid
        assert [fits(event) for event in events] == [event["type"] == type_ for event in events]


async def test_schemas_that_there_are_not(gateway: Gateway) -> None:
    for name in ("smoke.json", "message_notification", "message_notification.xml", ".json"):
        check_refused(await gateway.call("GET", f"{PAGE}/{name}", key=""), 404, "not_found", about=name)


async def test_the_page_shows_all_and_needs_nothing_from_elsewhere(gateway: Gateway) -> None:
    page = await gateway.call("GET", PAGE, key="")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    text = page.body.decode()
    for type_, actions in EVENTS.items():
        assert f'<section id="{type_}">' in text
        for action in actions:
            assert f"<code>{action}</code>: " in text
    links = set(re.findall(r'(?:src|href)="([^"]+)"', text)) - {"data:,"}
    inner = {link[1:] for link in links if link.startswith("#")}
    assert inner <= set(re.findall(r'id="([^"]+)"', text))
    assert {link for link in links if not link.startswith("#")} == {
        "/docs",
        "/docs/page.css",
        *(f"{PAGE}/{type_}.json" for type_ in ALL_TYPES),
    }
    for script in ("<script", " onclick=", " style=", "src="):
        assert script not in text
    assert "`" not in text  # what is code is shown as code
    style = (await gateway.call("GET", "/docs/page.css", key="")).body.decode()
    assert re.search(r"h2 code\b[^}]*text-transform: none", style)  # a type is written as it is


async def test_events_in_the_reference_are_these(gateway: Gateway) -> None:
    document = (await gateway.call("GET", "/openapi.json", key="")).json()
    parts = document["components"]["schemas"]
    fits = jsonschema_rs.validator_for(
        {"$ref": "#/components/schemas/Event", "components": {"schemas": parts}}
    ).is_valid
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    events = await feed(gateway)
    assert events
    for event in events:
        assert fits(event)
        assert not fits(event | {"data": {}})
