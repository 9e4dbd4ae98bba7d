"""A sandbox with a folder: killed at any moment, it comes back as it was, and what was on its way goes on."""

import asyncio
import contextlib
import shutil
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets
from pyreqwest.client import Client

from gatepost_sandbox import SandboxSettings
from gatepost_sandbox.storage import Folder, FolderInUse, wait_until_free
from gatepost_sandbox.storage.log import Log, read_log
from tests.listening import stop_listening
from tests.patience import PATIENCE

from .conftest import running
from .driver import NUMBER, START, TOKEN, WABA, Driver, Receiver
from .qr.conftest import link_up
from .qr.peer import PHONE, Peer
from .templates import draft
from .test_media import Files

ANA, BEN = "5511999990001", "5511999990002"
VIEWS = (
    "chats",
    "numbers",
    "people",
    "faults",
    "templates",
    "media",
    "phones",
    "settings",
    "clock",
    f"numbers/{NUMBER}/file",
)
PNG = b"\x89PNG" + bytes(400_000)
Kill = Callable[[], Driver]


@pytest.fixture
def kept(client: Client, tmp_path: Path) -> Iterator[Driver]:
    """A sandbox with a folder and a clock that stands still."""
    settings = SandboxSettings(seed=7, start=START, frozen=True, user_ids=False)
    with running(settings, tmp_path / "sandbox") as port:
        yield Driver(client, port)


@pytest.fixture
def kill(client: Client, tmp_path: Path) -> Iterator[Kill]:
    """Start another sandbox on what the first one has on disk at this moment: all that a kill leaves."""
    with contextlib.ExitStack() as all_:

        def after_kill() -> Driver:
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(tmp_path / "sandbox", copy)
            return Driver(client, all_.enter_context(running(SandboxSettings(), copy)))

        yield after_kill


async def look(sandbox: Driver) -> dict[str, Any]:
    """Everything that the control API shows."""
    shown = {view: await sandbox.control("GET", view) for view in VIEWS}
    ledger = (await sandbox.control("GET", "ledger?limit=100000"))["entries"]
    messages = await sandbox.control("GET", f"phones/{PHONE}/messages")
    sessions = [(one["session"], one["phone"], one["last_seq"]) for one in await sandbox.control("GET", "sessions")]
    chats = [
        await sandbox.control("GET", f"chats/{chat['person']}/{chat['number']['id']}")
        for chat in shown["chats"]["chats"]
    ]
    for chat in (*shown["chats"]["chats"], *(one["chat"] for one in chats)):
        if chat["number"]["network"] == "qr":
            del chat["presence"]  # as the state of a session: the connection ends with the process
    return {**shown, "ledger": ledger, "messages": messages, "sessions": sessions, "open": chats}


async def furnish(client: Client, sandbox: Driver, receiver: Receiver) -> None:
    """A bit of everything: people, files, templates, faults, a linked phone, messages in every state."""
    await sandbox.register(receiver.url)
    script = [{"text": "you said {text}", "times": 3, "delay": 5}]
    await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana", "replies": script})
    await sandbox.control("PUT", f"people/{BEN}", {"name": "Ben", "character": "slow"})
    media = (await Files(client, sandbox).upload(content=PNG)).json["id"]
    sent = {"messaging_product": "whatsapp", "to": ANA, "type": "image", "image": {"id": media}}
    assert (await sandbox.post(sent)).status == 200
    profile = {"messaging_product": "whatsapp", "about": "We sell shoes"}
    await sandbox.call("POST", f"/v25.0/{NUMBER}/whatsapp_business_profile", profile, TOKEN)
    assert (await sandbox.call("POST", f"/v25.0/{WABA}/message_templates", draft(), TOKEN)).status == 200
    await sandbox.control("POST", "faults", {"fault": "refuse", "code": 131056, "every": 2, "to": BEN})
    await sandbox.control("POST", "faults", {"fault": "http_error", "to": "15550009999", "lasts": 86400})
    for _ in range(3):
        await sandbox.text(BEN)
    await sandbox.text(ANA)
    picture = {"content": b64encode(b"\x89PNG").decode(), "mime_type": "image/png"}
    said = {"from": ANA, "type": "image", "image": picture}
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", said)
    await sandbox.control("POST", "clock", {"advance": 2.5})
    chat = f"chats/{ANA}/{NUMBER}"
    last = (await sandbox.control("GET", chat))["messages"][-1]
    actions: tuple[dict[str, Any], ...] = (
        {"type": "text", "text": "quoted", "quote": last["id"]},
        {"type": "media", "kind": "audio", "data": "T2dnUw==", "mime_type": "audio/ogg", "voice": True},
        {"type": "reaction", "target": last["id"], "emoji": "👍"},
    )
    for action in actions:
        await sandbox.control("POST", f"{chat}/send", action)
    await sandbox.control("POST", f"{chat}/read")
    await sandbox.control("POST", f"people/{BEN}/offline", {"seconds": 3600})
    await sandbox.text(BEN)
    await sandbox.control("POST", f"chats/5511999990003/{NUMBER}/report")
    await sandbox.control("POST", f"chats/5511999990004/{NUMBER}/marketing", {"stopped": True})
    await sandbox.control("POST", "people/5511999990004/number", {"phone": "5511999990005"})


async def test_a_kill_changes_nothing_that_can_be_seen(
    client: Client, kept: Driver, kill: Kill, receiver: Receiver
) -> None:
    await furnish(client, kept, receiver)
    async with websockets.connect(f"{kept.base.replace('http', 'ws', 1)}/qr/link") as socket:
        peer = Peer(socket)
        await link_up(kept, peer)
        await peer.send(1, ANA)
        await kept.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": BEN}, "content": {"body": "hi"}})
        await kept.control("POST", "clock", {"advance": 1})
        before = await look(kept)
        again = kill()
        assert await look(again) == before

    for sandbox in (kept, again):
        await sandbox.control("POST", "clock", {"advance": 86_400})
    assert await look(again) == await look(kept)
    assert (await again.text(ANA)).wamid == (await kept.text(ANA)).wamid


async def test_requests_that_failed_fail_again_without_a_word(
    kept: Driver, kill: Kill, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    await kept.register(receiver.url)
    for bad in ({"character": "purple"}, {"name": 2**70}):
        assert (await kept.call("PUT", f"/control/people/{ANA}", bad)).status == 400
    for odd in (str(2**70), "[" * 990 + "]" * 990):
        async with websockets.connect(f"{kept.base.replace('http', 'ws', 1)}/qr/link", proxy=None) as socket:
            await socket.send('{"op": "open", "ref": 1, "session": "ch_1", "x": ' + odd + "}")
            await socket.wait_closed()
            assert socket.close_code == 1007
    again = kill()
    assert await again.control("GET", "people") == []
    assert [record.getMessage() for record in caplog.records if record.name == "gatepost_sandbox"] == []


async def test_chats_are_kept_by_snapshots_too(client: Client, tmp_path: Path, receiver: Receiver) -> None:
    """The second restart has nothing to replay: the first one began with a snapshot of everything."""
    settings = SandboxSettings(seed=7, start=START, frozen=True, user_ids=False)
    chat = f"chats/{ANA}/{NUMBER}"
    with running(settings, tmp_path / "sandbox") as port:
        sandbox = Driver(client, port)
        await furnish(client, sandbox, receiver)
        await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana", "reads": "when_open"})
        await sandbox.text(ANA, "unread")
        await sandbox.control("POST", "clock", {"advance": 5})
        views = [await sandbox.control("GET", path) for path in ("chats", "people", chat)]
    for _ in range(2):
        with running(SandboxSettings(), tmp_path / "sandbox") as port:
            sandbox = Driver(client, port)
            assert [await sandbox.control("GET", path) for path in ("chats", "people", chat)] == views
    with running(SandboxSettings(), tmp_path / "sandbox") as port:
        sandbox = Driver(client, port)
        assert (await sandbox.control("POST", f"{chat}/read"))["unread"] == 0
        shown = (await sandbox.control("GET", chat))["messages"]
        [opened] = [message for message in shown if message["view"].get("text") == "unread"]
        assert opened["status"] == "read"
        await sandbox.control("POST", f"people/{BEN}/offline", {"seconds": 0})
        await sandbox.control("POST", "clock", {"advance": 60})
        assert (opened["id"], "read") in [(update["id"], update.get("status")) for update in receiver.updates()]
        messages = (await sandbox.control("GET", f"chats/{BEN}/{NUMBER}"))["messages"]
        assert {message["status"] for message in messages} == {"read"}


async def test_what_was_on_its_way_to_the_business_goes_on(kept: Driver, kill: Kill, receiver: Receiver) -> None:
    await kept.register(receiver.url, callbacks={"retry": [60, 60]})
    receiver.answer = lambda _: 503
    sent = (await kept.text(ANA)).wamid
    await kept.control("POST", "clock", {"advance": 30})
    assert len(receiver.bodies) == 3  # sent, delivered, read: none of them taken
    receiver.answer = lambda _: 200
    again = kill()
    await again.control("POST", "clock", {"advance": 60})
    seen = receiver.updates()[3:]
    assert sorted((update["id"], update["status"]) for update in seen) == [
        (sent, "delivered"),
        (sent, "read"),
        (sent, "sent"),
    ]
    assert (await again.control("GET", "ledger/summary"))["total"]["callbacks.delivered"] == 3


async def test_a_reset_is_kept_too(kept: Driver, kill: Kill, receiver: Receiver) -> None:
    await kept.register(receiver.url)
    await kept.text(ANA)
    await kept.control("POST", "reset", {"keep_numbers": True, "start": START + 1000, "speed": 2, "frozen": True})
    again = kill()
    clock = await again.control("GET", "clock")
    assert (clock["now"], clock["frozen"], clock["speed"], clock["waiting"]) == (START + 1000, True, 2, 0)
    assert [number["phone_number_id"] for number in await again.control("GET", "numbers")] == [NUMBER]
    assert (await again.control("GET", "ledger/summary"))["total"] == {}
    assert (await again.text(ANA)).wamid == (await kept.text(ANA)).wamid


async def test_a_full_log_becomes_a_snapshot(
    client: Client, kill: Kill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost_sandbox.storage.folder.LOG_MAX", 400_000)
    with running(SandboxSettings(seed=7, start=START, frozen=True), tmp_path / "sandbox") as port:
        kept = Driver(client, port)
        await kept.register()
        assert {path.name for path in (tmp_path / "sandbox").iterdir()} == {"lock", "state.1", "log.1"}
        said = {"from": ANA, "type": "image", "image": {"content": b64encode(bytes(30_000)).decode()}}
        for _ in range(15):
            await kept.control("POST", f"numbers/{NUMBER}/incoming", said)
        assert {path.name for path in (tmp_path / "sandbox").iterdir()} == {"lock", "state.2", "log.2"}
        assert (tmp_path / "sandbox" / "log.2").stat().st_size < 400_000
        again = kill()
        assert len(await again.control("GET", "media")) == 15
        assert (await again.control("GET", "ledger/summary"))["total"]["incoming"] == 15


async def test_a_snapshot_holds_what_is_on_the_wire(
    client: Client, kill: Kill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: asyncio.Queue[bytes] = asyncio.Queue()

    done, serving = asyncio.Event(), set[Any]()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = [line.split()[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        came.put_nowait(await reader.readexactly(int(length)))
        await done.wait()
        writer.close()
        await writer.wait_closed()

    monkeypatch.setattr("gatepost_sandbox.storage.folder.LOG_MAX", 400_000)
    settings = SandboxSettings(seed=7, start=START, frozen=True)
    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    with running(settings, tmp_path / "sandbox") as port:
        kept = Driver(client, port)
        await kept.register(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", verify=False)
        await kept.control("POST", "say", {"phone_number_id": NUMBER, "from": ANA, "text": "on the wire"})
        await kept.control("POST", "say", {"phone_number_id": NUMBER, "from": ANA, "text": "in the queue"})
        first = await came.get()
        for _ in range(15):
            await kept.control("PUT", f"people/{ANA}", {"name": "Ana" * 10_000})
        assert (tmp_path / "sandbox" / "state.2").exists()
        again = kill()
        assert await came.get() == first
        assert len((await again.control("GET", "people/" + ANA))["name"]) == 30_000
        waiting = await again.control("GET", "ledger/summary")
        assert waiting["total"]["updates.message"] == 2
    await stop_listening(server)
    done.set()
    await asyncio.gather(*serving)


async def test_a_record_cut_short_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    for number in range(3):
        log.write(START, "frame", (number, {"op": "ack"}))
    log.close()
    whole = (tmp_path / "log").read_bytes()
    for cut in range(len(whole)):
        (tmp_path / "log").write_bytes(whole[:cut])
        assert [record.values[0] for record in read_log(tmp_path / "log")] == list(range(3 * cut // len(whole)))
    (tmp_path / "log").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert len(list(read_log(tmp_path / "log"))) == 2


async def test_what_another_version_wrote_is_set_aside(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(SandboxSettings(), tmp_path / "sandbox") as port:
        await Driver(client, port).register()
    state = tmp_path / "sandbox" / "state.1"
    state.write_bytes(b"0" * 64 + state.read_bytes()[64:])
    with running(SandboxSettings(), tmp_path / "sandbox") as port:
        assert await Driver(client, port).control("GET", "numbers") == []
    assert "another version" in caplog.text
    [old] = (tmp_path / "sandbox").glob("old-*")
    assert {path.name for path in old.iterdir()} == {"state.1", "log.1"}


def test_a_folder_has_one_sandbox_at_a_time(tmp_path: Path) -> None:
    one = Folder(tmp_path / "sandbox")
    with pytest.raises(FolderInUse, match="Another sandbox"):
        wait_until_free(tmp_path / "sandbox", patience=0.1)
    one.close()
    wait_until_free(tmp_path / "sandbox", patience=0.1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_the_program_itself_comes_back(client: Client, tmp_path: Path, how: signal.Signals) -> None:
    def start() -> tuple["subprocess.Popen[str]", Driver]:
        place = ["--port", "0", "--data", str(tmp_path / "sandbox")]
        program = subprocess.Popen(
            [sys.executable, "-m", "gatepost.cli", "sandbox", *place], stdout=subprocess.PIPE, text=True
        )
        assert program.stdout is not None
        return program, Driver(client, int(program.stdout.readline().rpartition(":")[2]))

    program, sandbox = start()
    await sandbox.register()
    wamids = [(await sandbox.text(f"551199999{number:04}")).wamid for number in range(50)]
    program.send_signal(how)
    program.communicate(timeout=PATIENCE)
    program, sandbox = start()
    try:
        rows = (await sandbox.control("GET", "ledger?kind=accepted"))["entries"]
        assert [row["wamid"] for row in rows] == wamids
    finally:
        program.kill()
        program.communicate()
