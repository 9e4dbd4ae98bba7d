"""The real native library in the real child. Nothing leaves this machine: the way out is a closed port of loopback."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import psutil
import pytest

from gatepost.admin import accounts, channels
from gatepost.model.account import Plan
from gatepost.model.errors import Conflict
from gatepost.networks.base import CallFailed, ConnectionUpdate, Person, SendNotMade
from gatepost.networks.qr.child_driver import PROGRAM, ChildDriver, Devices, environment
from gatepost.networks.qr.driver import DriverTimeouts
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.phone.by_baileys.devices import DeviceStore as BaileysDevices
from gatepost.store.backup.table_data import connect_for_copy
from gatepost.store.channels import ChannelConfig
from gatepost.store.devices import forget_devices
from gatepost.store.embedded import device_dsn
from gatepost.store.moves.device_rows import make_device_tables, read_devices, write_devices
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, copied_database
from tests.patience import PATIENCE

DEVICE = "15550002222:7@s.whatsapp.net"
OTHER_DEVICE = "15550002222:8@s.whatsapp.net"
NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every dial goes to a proxy on loopback that is not there."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: refused at once, and nobody else gets the port
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{closed.getsockname()[1]}")
        yield


@pytest.fixture
def store(database_url: str) -> str:
    """Give the store as the gateway hands it to its child: under a role that has nothing else."""
    return device_dsn(database_url) or ""


@pytest.fixture
async def driver(store: str) -> AsyncIterator[ChildDriver]:
    one = ChildDriver(Devices(store), health=DriverTimeouts(first_wait=0.05))
    await one.start()
    yield one
    await one.close()


async def news_until(link: Link, reason: str) -> list[ConnectionUpdate]:
    seen: list[ConnectionUpdate] = []
    async with asyncio.timeout(PATIENCE):
        async for _, update in link.updates():
            assert isinstance(update, ConnectionUpdate)
            seen.append(update)
            if update.reason == reason:
                return seen
    raise AssertionError(seen)


async def test_a_dial_without_network_ends_in_the_right_state_and_reason(driver: ChildDriver, store: str) -> None:
    link = driver.link("ch_1")
    await link.open("15550002222")
    seen = await news_until(link, "network_gone")
    assert [(one.state, one.reason) for one in seen] == [("connecting", "started"), ("disconnected", "network_gone")]
    assert "proxyconnect tcp: dial tcp 127.0.0.1" in (seen[-1].details or "")
    assert link.own_ids is False
    assert "whatsmeow_device" in await tables(store)

    receipt = await link.send("0" * 32, Person(phone="15550003333"), "text", {"body": "x"})
    assert receipt == SendNotMade("The link is not connected.")
    with pytest.raises(CallFailed, match="not connected"):
        await link.check(["15550003333"])
    await link.close()


async def tables(store: str) -> set[str]:
    conn = await asyncpg.connect(store)
    try:
        rows = await conn.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'qr_devices'")
        return {row["tablename"] for row in rows}
    finally:
        await conn.close()


async def test_a_device_of_the_store_is_dialled_and_an_unknown_one_is_logged_out(
    driver: ChildDriver, store: str
) -> None:
    first = driver.link("ch_1")
    await first.open("15550002222")
    await news_until(first, "network_gone")
    await put_device(store)

    known, unknown = driver.link("ch_2"), driver.link("ch_3")
    await known.open("15550002222", DEVICE)
    await unknown.open("15550002222", "15550009999:1@s.whatsapp.net")
    assert (await news_until(known, "network_gone"))[-1].state == "disconnected"
    assert (await news_until(unknown, "logged_out"))[-1].state == "logged_out"
    await known.open("15550002222", DEVICE)  # and once more after its end
    assert (await news_until(known, "network_gone"))[-1].state == "disconnected"


async def test_a_device_is_not_logged_out_while_its_store_cannot_be_read(driver: ChildDriver, store: str) -> None:
    first = driver.link("ch_1")
    await first.open("15550002222")
    await news_until(first, "network_gone")
    await put_device(store)
    conn = await asyncpg.connect(store)
    await conn.execute("REVOKE ALL ON qr_devices.whatsmeow_device FROM CURRENT_USER")
    try:
        link = driver.link("ch_2")
        await link.open("15550002222", DEVICE)
        last = (await news_until(link, "stream_error"))[-1]
        assert (last.state, link.device) == ("disconnected", DEVICE)
        assert "permission denied" in (last.details or "")
    finally:
        await conn.execute("GRANT ALL ON qr_devices.whatsmeow_device TO CURRENT_USER")
        await conn.close()
    await link.close()
    again = driver.link("ch_2")
    await again.open("15550002222", DEVICE)
    assert (await news_until(again, "network_gone"))[-1].state == "disconnected"


async def put_device(store: str, device: str = DEVICE) -> None:
    conn = await asyncpg.connect(store)
    await conn.execute(
        "INSERT INTO qr_devices.whatsmeow_device (jid, registration_id, noise_key, identity_key, signed_pre_key,"
        " signed_pre_key_id, signed_pre_key_sig, adv_key, adv_details, adv_account_sig, adv_account_sig_key,"
        " adv_device_sig, push_name) VALUES ($1, 1, $2, $2, $2, 1, $3, $2, $2, $3, $2, $3, 'Shop, the')",
        device,
        b"\1" * 32,
        b"\2" * 64,
    )
    await conn.execute("INSERT INTO qr_devices.whatsmeow_sessions VALUES ($1, '15550003333.0:1', $2)", device, b"x")
    await conn.execute("INSERT INTO qr_devices.whatsmeow_privacy_tokens VALUES ($1, '1@x', $2, 1, 1)", device, b"x")
    await conn.close()


async def test_rows_of_a_deleted_channels_device_go_and_others_stay(
    driver: ChildDriver, store: str, database_url: str
) -> None:
    first = driver.link("ch_1")
    await first.open("15550002222")
    await news_until(first, "network_gone")
    await put_device(store)
    await put_device(store, OTHER_DEVICE)
    keys = BaileysDevices(store, bytes(32))
    for device in (DEVICE, OTHER_DEVICE):
        await keys.put(device, [("session", "1", "x")])
    db = await Database.connect(database_url, connections=2)
    channel = await linked_channel(db, DEVICE)
    await linked_channel(db, OTHER_DEVICE)

    await channels.delete_channel(db, channel.account_id, channel.id, now=NOW)
    await forget_devices(db, "")
    assert await devices_in(store) == {OTHER_DEVICE}
    # The child learns of it a moment later, and writes until then: what it wrote goes as well.
    await keys.put(DEVICE, [("session", "2", "x")])
    await forget_devices(db, store)
    assert await devices_in(store) == {OTHER_DEVICE}
    # A device that was linked again is nobody's to delete.
    await linked_channel(db, DEVICE)
    await keys.put(DEVICE, [("session", "3", "x")])
    await forget_devices(db, "")
    assert await devices_in(store) == {DEVICE, OTHER_DEVICE}
    await keys.close()
    await db.close()


async def test_a_device_that_moves_to_a_cell_without_phones_is_dialled_there(
    driver: ChildDriver, store: str, database_url: str, postgres_server: PostgresServer
) -> None:
    first = driver.link("ch_1")
    await first.open("15550002222")
    await news_until(first, "network_gone")
    await put_device(store)
    async with copied_database(postgres_server, "gatepost") as other_url:
        old, new = await connect_for_copy(database_url), await connect_for_copy(other_url)
        tables_, rows = await read_devices(old, [DEVICE])
        await make_device_tables(new, tables_)
        await write_devices(new, [DEVICE], rows)
        await new.execute("ALTER TABLE qr_devices.whatsmeow_lid_map RENAME TO older")
        with pytest.raises(Conflict, match="older version"):
            await make_device_tables(new, tables_)
        await new.execute("ALTER TABLE qr_devices.older RENAME TO whatsmeow_lid_map")
        await old.close()
        await new.close()
        there = ChildDriver(Devices(device_dsn(other_url) or ""), health=DriverTimeouts(first_wait=0.05))
        await there.start()
        link = there.link("ch_1")
        await link.open("15550002222", DEVICE)
        assert (await news_until(link, "network_gone"))[-1].state == "disconnected"
        await there.close()


async def linked_channel(db: Database, device: str) -> ChannelConfig:
    plans = {"free": Plan("Free")}
    account = await accounts.create_account(db, "Shop", "free", plans=plans, trial_days=1, now=NOW)
    channel = await channels.create_qr(db, account.id, phone="15550002222", name="Shop", limits={}, now=NOW)
    async with db.connection() as conn:
        await conn.execute("INSERT INTO channel_links (channel_id, device) VALUES ($1, $2)", channel.id, device)
    return channel


async def devices_in(store: str) -> set[str]:
    """Every device that some table of some engine still names."""
    conn = await asyncpg.connect(store)
    try:
        rows = await conn.fetch(
            """SELECT jid FROM qr_devices.whatsmeow_device UNION SELECT our_jid FROM qr_devices.whatsmeow_sessions
               UNION SELECT our_jid FROM qr_devices.whatsmeow_privacy_tokens
               UNION SELECT device FROM qr_devices.baileys_keys"""
        )
        return {row[0] for row in rows}
    finally:
        await conn.close()


async def test_a_killed_child_ends_every_link_and_is_started_again(driver: ChildDriver) -> None:
    links = [driver.link("ch_1"), driver.link("ch_2")]
    for link in links:
        await link.open("15550002222")
    assert driver.pid
    os.kill(driver.pid, signal.SIGKILL)
    for link in links:
        assert (await news_until(link, "driver_gone"))[-1].state == "disconnected"
    assert isinstance(await links[0].send("0" * 32, Person(phone="15550003333"), "text", {"body": "x"}), SendNotMade)

    again = driver.link("ch_1")
    await again.open("15550002222")
    assert (await news_until(again, "network_gone"))[-1].state == "disconnected"


async def test_the_child_leaves_with_the_driver(store: str) -> None:
    driver = ChildDriver(Devices(store))
    await driver.start()
    link = driver.link("ch_1")
    await link.open("15550002222")
    assert driver.pid
    child = psutil.Process(driver.pid)
    assert os.getsid(child.pid) == child.pid
    await driver.close()
    assert not child.is_running()


async def test_a_store_that_cannot_be_reached_is_reported(tmp_path: Path) -> None:
    driver = ChildDriver(Devices(f"postgresql://nobody@/nowhere?host={tmp_path}"))
    await driver.start()
    link = driver.link("ch_1")
    await link.open("15550002222")
    last = (await news_until(link, "stream_error"))[-1]
    assert last.state == "disconnected"
    assert str(tmp_path) in (last.details or "")
    known = driver.link("ch_2")
    await known.open("15550002222", DEVICE)
    assert (await news_until(known, "stream_error"))[-1].state == "disconnected"
    assert known.device == DEVICE  # the phone is still linked
    await driver.close()


@pytest.mark.parametrize(
    ("breakage", "says"),
    [
        ("sys.modules['magic'] = None", "libmagic"),
        ("sys.modules['neonize'] = None", "not installed"),
        ("import platform; platform.machine = lambda: 'pdp11'", "neonize-linux-pdp11.so"),
    ],
)
async def test_what_cannot_be_loaded_is_a_clear_error(tmp_path: Path, breakage: str, says: str) -> None:
    script = tmp_path / "broken.py"
    script.write_text(f"import sys\n{breakage}\nfrom gatepost.networks.qr.phone.__main__ import main\nmain()\n")
    driver = ChildDriver(Devices("postgresql://127.0.0.1:1/none"), program=(sys.executable, str(script)))
    await driver.start()
    link = driver.link("ch_1")
    await link.open("15550002222")
    last = (await news_until(link, "could_not_load"))[-1]
    assert last.state == "disconnected"
    assert says in (last.details or "")
    with pytest.raises(CallFailed):
        await link.pair("15550002222")
    await driver.close()


_VOTE = """
import asyncio
from gatepost.networks.qr.phone.by_neonize.library import load
binder = load()
from gatepost.networks.qr.phone.by_neonize.native import Neonize
from tests.networks.qr.library_events import message, said
event = message(said())
event.IsViewOnceV2Extension = event.IsLottieSticker = False
event.UnavailableRequestID, event.RetryCount = "", 0
try:
    asyncio.run(Neonize(binder, "").phone("ch_1/1").vote(event))
except Exception as error:
    print(error)
"""


def test_the_library_is_asked_for_votes_in_the_form_that_it_returns() -> None:
    """It answers with an error in the same way as with a vote."""
    done = subprocess.run([sys.executable, "-c", _VOTE], capture_output=True, text=True, check=True)
    assert done.stdout == "given message isn't a poll update message\n"


def test_no_secret_of_the_gateway_reaches_the_child() -> None:
    ours = {"PATH": "/bin", "GATEPOST_VAULT_KEY": "s3cret", "DATABASE_URL": "x", "https_proxy": "http://127.0.0.1:1"}
    assert environment(Devices("postgresql://here", "baileys", b"\1\2\3"), ours) == {
        "PATH": "/bin",
        "https_proxy": "http://127.0.0.1:1",
        "GATEPOST_QR_STORE": "postgresql://here",
        "GATEPOST_QR_ENGINE": "baileys",
        "GATEPOST_QR_KEY": "AQID",
    }
    assert PROGRAM[0] == sys.executable
