"""A cell whose database is away stops its own accounts only."""

import asyncio
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from faults.proxy import running_proxy
from gatepost.cells import cell as cell_module
from gatepost.cells.gateway import opened_gateway
from gatepost.clock import SystemClock
from gatepost.metrics import ProcessMetrics
from gatepost.model.account import new_key
from gatepost.model.errors import Conflict
from gatepost.start_errors import CannotStart
from gatepost.store import pool
from gatepost.store.pool import Database
from tests.cells.conftest import NOWHERE, TOKEN, Cells, cell_settings, channel_id, running_cells, stop
from tests.conftest import PostgresServer
from tests.gateway.people import new_person
from tests.patience import patience
from tests.running_gateway import Gateway

SOCKET = ".s.PGSQL.5432"
SECRET_KEY = "A" * 43 + "="


async def test_a_cell_goes_down_and_comes_back(cells: Cells) -> None:
    main, west, east = (cells.of[name] for name in ("main", "west", "east"))
    new = await east.new_key(channel_id(east))  # not seen by the gateway before the outage
    person = await new_person(east)
    for one in cells.of.values():
        await one.send(phone="5511999998888", body="Hello")
    await cells.stop("west")
    await cells.until_cells(main=True, west=False, east=True)
    for known in (main, east):
        assert await known.status(await known.send(phone="5511999998888", body="Hello")) != "FAILED"
    assert (await east.call("GET", "/api/v1/channel", key=new)).status == 200
    assert (await person.sign_in()).status == 201
    down = await west.call("POST", "/api/v1/message/send", {"phone": "5511999998888", "body": "Hello"})
    assert (down.status, down.json()["error"]["code"]) == (503, "database_unavailable")
    for method, path in (("GET", "/api/v1/channel"), ("POST", "/api/v1/message/send")):
        unknown = await main.call(method, path, key=new_key())  # it may be a key of west
        assert (unknown.status, unknown.json()["error"]["code"]) == (503, "database_unavailable")
        assert "retry-after" in unknown.headers
        assert "west" not in unknown.body.decode()
    assert 'gatepost_cell_up{cell="west"} 0.0' in await _metrics(main)
    await cells.resume("west")
    await cells.until_cells(main=True, west=True, east=True)
    await west.until_status(await west.send(phone="5511999998888", body="Hello again"), "READ")
    assert (await main.call("GET", "/api/v1/channel", key=new_key())).status == 401


async def test_a_cell_that_does_not_answer(
    urls: dict[str, str], postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_module, "_PING_WITHIN", 0.5)
    monkeypatch.setattr(pool, "_CANCEL_WITHIN", 0.1)
    folder = parse_qs(urlsplit(urls["west"]).query)["host"][0]
    async with running_proxy(Path(folder) / SOCKET, at=tmp_path / SOCKET) as proxy:
        through = urls | {"west": urls["west"].replace(quote(folder), quote(str(tmp_path)))}
        async with running_cells(through, postgres_server) as cells:
            main, west, east = (cells.of[name] for name in ("main", "west", "east"))
            new = await east.new_key(channel_id(east))
            for one in cells.of.values():
                await one.send(phone="5511999998888", body="Hello")
            proxy.go_silent()
            assert (await main.call("GET", "/readyz", key="")).status == 200
            async with patience(lambda: "the cell west is up"):
                while 'gatepost_cell_up{cell="west"} 0.0' not in await _metrics(main):
                    await asyncio.sleep(0.02)
            refused = await asyncio.gather(*(west.call("GET", "/api/v1/channel") for _ in range(20)))
            refused.append(await west.call("POST", "/api/v1/message/send", {"phone": "5511999998888", "body": "Hello"}))
            refused.append(await main.call("GET", "/api/v1/channel", key=new_key()))
            assert {(one.status, one.json()["error"]["code"]) for one in refused} == {(503, "database_unavailable")}
            for one, key in ((main, None), (east, None), (east, new)):
                assert (await one.call("GET", "/api/v1/channel", key=key)).status == 200
            proxy.resume()
            await cells.until_cells(main=True, west=True, east=True)
            await west.until_status(await west.send(phone="5511999998888", body="Hello again"), "READ")


async def _metrics(gateway: Gateway) -> str:
    return (await gateway.call("GET", "/metrics", key=TOKEN)).body.decode()


async def test_the_first_cell_goes_down(cells: Cells) -> None:
    west = cells.of["west"]
    await cells.stop("main")
    await cells.until_cells(main=False, west=True, east=True)
    assert (await west.call("GET", "/readyz", key="")).status == 200
    await west.until_status(await west.send(phone="5511999998888", body="Hello"), "READ")
    assert (await cells.of["main"].call("GET", "/api/v1/channel")).status == 503
    assert (await west.call("GET", "/docs", key="")).status == 200
    await cells.resume("main")
    await cells.until_cells(main=True, west=True, east=True)


async def test_a_cell_that_is_away_at_the_start_is_opened_later(
    urls: dict[str, str], postgres_server: PostgresServer
) -> None:
    await stop(postgres_server, urls["west"])
    async with running_cells({**urls, "south": NOWHERE}, postgres_server, away=("west", "south")) as cells:
        assert await cells.ready() == {"main": True, "west": False, "east": True, "south": False}
        for name in ("main", "east"):
            assert (await cells.of[name].call("GET", "/api/v1/channel")).status == 200
        assert (await cells.of["main"].call("GET", "/api/v1/channel", key=new_key())).status == 503
        await cells.resume("west")
        await cells.until_cells(main=True, west=True, east=True, south=False)
        await cells.furnish("west")
        west = cells.of["west"]
        await west.until_status(await west.send(phone="5511999998888", body="Hello"), "READ")


async def test_the_first_cell_is_away_at_the_start(urls: dict[str, str], postgres_server: PostgresServer) -> None:
    await stop(postgres_server, urls["main"])
    async with running_cells(urls, postgres_server, away=("main",), security__secret_key=SECRET_KEY) as cells:
        assert await cells.ready() == {"main": False, "west": True, "east": True}
        assert (await cells.of["west"].call("GET", "/api/v1/channel")).status == 200
        await cells.resume("main")
        await cells.until_cells(main=True, west=True, east=True)
        await cells.furnish("main")
        assert (await cells.of["main"].call("GET", "/api/v1/channel")).status == 200


async def test_databases_under_the_wrong_name_are_refused(urls: dict[str, str], empty_database_url: str) -> None:
    await _refused({**urls, "east": urls["west"]}, "is the cell west")
    await _refused({**urls, "west": urls["main"]}, "is the cell main")
    await _refused({**urls, "main": urls["west"]}, "is the cell west")
    await _refused({**urls, "south": empty_database_url}, "gatepost cell add south")
    db = await Database.connect(empty_database_url, connections=1)
    assert await db.fetchval("SELECT to_regclass('accounts')") is None  # it was not migrated
    await db.close()
    await _refused({"main": NOWHERE, "west": NOWHERE}, "None of the databases can be reached", CannotStart)


async def _refused(urls: dict[str, str], words: str, error: type[Exception] = Conflict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = cell_settings(urls, folder, security__secret_key=SECRET_KEY)
        db = await Database.connect(urls["main"], connections=4)
        async with opened_gateway(settings, db, urls["main"], SystemClock(), "all", ProcessMetrics()) as parts:
            with pytest.raises(error, match=words):
                await parts.start()
        await db.close()
