"""Forbidden addresses are refused everywhere: in a new or changed webhook, in a media link, and at each attempt."""

from typing import Any

from tests.conftest import Receiver
from tests.gateway.checks import PERSON, TEXT, check_refused, until
from tests.running_gateway import Gateway, running_gateway
from tests.webhooks.test_forbidden_targets import LITERALS

HOOKS = "/api/v1/webhooks"
SEND = "/api/v1/message/send"
MORE = ["http://files.example:22/a", "http://93.184.215.14:5432/a"]
URLS = [*(f"http://{host}/a" for host in LITERALS), *MORE]


async def test_no_route_accepts_a_forbidden_address(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, webhooks__allow=[]) as gateway:
        hook = (await gateway.call("POST", HOOKS, {"url": "https://93.184.215.14/hook"})).json()["data"]
        for url in URLS:
            check_refused(await gateway.call("POST", HOOKS, {"url": url}), 422, "forbidden_url", "url", about=url)
            change = {"url": url, "headers": {"X-A": "1"}}
            answer = await gateway.call("PATCH", f"{HOOKS}/{hook['id']}", change)
            check_refused(answer, 422, "forbidden_url", "url", about=url)
            sent = {"phone": PERSON, "type": "image", "media": {"link": url}}
            answer = await gateway.call("POST", SEND, sent)
            code = "invalid_field" if "\t" in url or "://" not in url else "forbidden_url"
            check_refused(answer, 422, code, "media.link", about=url)
        shown = {name: value for name, value in hook.items() if name != "secret"}
        assert (await gateway.call("GET", HOOKS)).json()["data"] == [shown]
        assert (await gateway.call("GET", "/api/v1/messages")).json()["data"] == []


async def test_an_address_is_judged_again_at_each_attempt(gateway: Gateway, receiver: Receiver) -> None:
    """Whatever came into the table, by an older version or by hand: what is dialled is judged first."""
    hook = (await gateway.call("POST", HOOKS, {"url": receiver.url})).json()["data"]
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE endpoints SET url = 'http://169.254.169.254/latest/meta-data/'")
    await gateway.send(**TEXT)

    async def logged() -> Any:
        return (await gateway.call("GET", f"{HOOKS}/{hook['id']}/attempts")).json()["data"]

    attempts = await until(logged)
    assert {(attempt["status"], "metadata" in attempt["error"]) for attempt in attempts} == {(None, True)}
    assert receiver.requests == []
