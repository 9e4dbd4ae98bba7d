"""The list of channels says where the sandbox is, if that is the network of a channel."""

from typing import Any

from gatepost.model import ids
from gatepost_sandbox import SandboxSettings
from tests.gateway.people import new_person
from tests.running_gateway import Gateway, running_gateway, running_sandbox


async def listed(gateway: Gateway) -> dict[str, Any]:
    """Return the channels by their ids, and check that each can be read alone."""
    person = await new_person(gateway, "reader")
    rows = (await person.call("GET", "/api/v1/account/channels")).json()["data"]
    for row in rows:
        alone = (await person.call("GET", f"/api/v1/account/channels/{row['id']}")).json()["data"]
        assert alone.get("sandbox_url") == row.get("sandbox_url")
    return {row["id"]: row.get("sandbox_url", "none") for row in rows}


async def test_a_gateway_that_follows_a_sandbox_names_it(parted_database_url: str) -> None:
    async with running_sandbox(SandboxSettings()) as url:
        networks: Any = {"cloud__base_url": url, "qr__link_url": f"ws{url.removeprefix('http')}/qr/link"}
        async with running_gateway(parted_database_url, clock__follow=f"{url}/", **networks) as gateway:
            qr = await gateway.new_qr_channel(gateway.account_id)
            other = await gateway.new_channel(gateway.account_id, "15550002222", "100000000000002")
            async with gateway.db.connection() as conn:
                await conn.execute(
                    """UPDATE channels SET network = network || '{"base_url": "https://graph.facebook.com"}'
                       WHERE id = $1""",
                    other.id,
                )
            assert await listed(gateway) == {
                gateway.channel: url,
                ids.format_id("ch", qr.id): url,
                ids.format_id("ch", other.id): "none",
            }


async def test_without_the_setting_no_sandbox_is_named(gateway: Gateway) -> None:
    assert await listed(gateway) == {gateway.channel: "none"}
