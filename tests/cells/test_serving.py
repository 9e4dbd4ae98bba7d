"""Requests of three cells behind one address: each reaches its own, and no other."""

import asyncio
from typing import Any
from uuid import uuid4

from gatepost.admin import one_time_links, users
from gatepost.model.account import new_key
from tests.cells.conftest import NAMES, TOKEN, Cells, channel_id
from tests.gateway.people import PASSWORD, Person, new_person, post_session
from tests.running_gateway import Gateway


async def test_messages_of_every_cell_are_sent_and_read(cells: Cells) -> None:
    sent = {name: await one.send(phone="5511999998888", body=f"Hello from {name}") for name, one in cells.of.items()}
    for name, one in cells.of.items():  # statuses arrive as callbacks, which name the channel
        await one.until_status(sent[name], "READ")
        assert [row["body"] for row in await one.db.fetch("SELECT content::jsonb->>'body' AS body FROM messages")] == [
            f"Hello from {name}"
        ]


async def test_ids_of_another_cell_are_not_found(cells: Cells) -> None:
    west, east = cells.of["west"], cells.of["east"]
    message = await west.send(phone="5511999998888", body="Hello")
    for stranger in (east, cells.of["main"]):
        assert (await stranger.call("GET", f"/api/v1/messages/{message}")).status == 404
    person = await new_person(east)
    person.channel = west.channel
    assert (await person.call("GET", "/api/v1/messages")).status == 404
    assert (await person.call("GET", f"/api/v1/account/channels/{west.channel}")).status == 404


async def test_keys(cells: Cells) -> None:
    for one in cells.of.values():
        answer = await one.call("GET", "/api/v1/channel")
        assert answer.json()["data"]["id"] == one.channel
    main = cells.of["main"]
    for wrong in (new_key(), "gpk_mistyped", "nothing"):
        assert (await main.call("GET", "/api/v1/channel", key=wrong)).status == 401
        assert (await main.call("POST", "/api/v1/message/send", {}, key=wrong)).status == 401
    assert (await main.call("GET", "/api/v1/channel", key="")).status == 401


async def test_people_sign_in_where_they_are(cells: Cells) -> None:
    for name, one in cells.of.items():
        person = await new_person(one)
        shown = (await person.call("GET", "/api/v1/account")).json()["data"]
        assert shown["id"].endswith(one.account_id.hex), name
        assert (await person.sign_in("wrong password")).status == 401
        assert (await person.call("DELETE", "/api/v1/session")).status == 200
        assert (await person.call("GET", "/api/v1/account")).status == 401
    unknown = {"email": "nobody@example.com", "password": PASSWORD}
    assert (await post_session(cells.of["main"], unknown)).status == 401
    for wrong in (b"", b"[]", b'{"email": 1}', b'{"email": "a\\u0000@example.com", "password": "x"}'):
        answer = await cells.of["main"].call("POST", "/api/v1/session", key="", raw=wrong)
        assert 400 <= answer.status < 500, (wrong, answer.body)


async def test_the_password_decides_between_two_cells(cells: Cells) -> None:
    email, passwords = f"{uuid4().hex}@example.com", {"west": "the western password", "east": "the eastern password"}
    for name, password in passwords.items():
        await _new_user(cells.of[name], email, password)
    for name, password in passwords.items():
        person = Person(cells.of[name], None)  # type: ignore[arg-type]
        person.keep(await post_session(cells.of[name], {"email": email, "password": password}))
        shown = (await person.call("GET", "/api/v1/account")).json()["data"]
        assert shown["id"].endswith(cells.of[name].account_id.hex)
    assert (await post_session(cells.of["west"], {"email": email, "password": "another password"})).status == 401
    await cells.of["west"].db.execute("UPDATE users SET totp_active = true WHERE email = $1", email)
    needed = await post_session(cells.of["west"], {"email": email, "password": passwords["west"]})
    assert needed.json()["error"]["code"] == "code_required"


async def _new_user(gateway: Gateway, email: str, password: str) -> Any:
    return await users.create_user(
        gateway.db, gateway.account_id, email, role="owner", name="", password=password, now=gateway.clock.now()
    )


async def test_one_time_links_and_streams(cells: Cells) -> None:
    west = cells.of["west"]
    user = (await _new_user(west, "lost@example.com", PASSWORD)).user
    link = await one_time_links.create_reset_link(west.db, user.account_id, user.id, now=west.clock.now())
    path = f"/api/v1/one-time-links/{link.token}"
    assert (await west.call("GET", path, key="")).json()["data"]["email"] == "lost@example.com"
    used = await west.call("POST", path, {"password": "a new password"}, key="", headers={"origin": west.url})
    assert used.status == 201
    assert (await west.call("GET", path, key="")).status == 404
    first = asyncio.create_task(cells.of["east"].call("GET", "/api/v1/events/stream"))
    await cells.of["east"].send(phone="5511999998888", body="Hello")
    assert (await first).status == 200


async def test_what_needs_no_credential(cells: Cells) -> None:
    main = cells.of["main"]
    for path in ("/healthz", "/openapi.json", "/docs"):
        assert (await main.call("GET", path, key="")).status == 200
    assert await cells.ready() == dict.fromkeys(NAMES, True)
    for one in cells.of.values():
        await one.send(phone="5511999998888", body="Hello")
    shown = (await main.call("GET", "/metrics", key=TOKEN)).body.decode().splitlines()
    assert "gatepost_messages_accepted_total 3.0" in shown
    assert "gatepost_processes 1.0" in shown
    assert {line for line in shown if line.startswith("gatepost_cell_up{")} == {
        f'gatepost_cell_up{{cell="{name}"}} 1.0' for name in NAMES
    }
    assert sum(line.startswith("process_open_fds ") for line in shown) == 1


async def test_mcp(cells: Cells) -> None:
    for name in ("main", "west"):
        one = cells.of[name]
        key = await one.new_key(channel_id(one), scopes=("mcp", "read"))
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_channel", "arguments": {}}}
        accept = {"accept": "application/json, text/event-stream"}
        answer = await one.call("POST", "/mcp", call, key=key, headers=accept)
        assert answer.status == 200, answer.body
        assert one.channel in answer.body.decode()
