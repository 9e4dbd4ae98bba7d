"""`gatepost up`: everything at once, to try it out.

sandbox (a child process) ─► gateway (this process) ─► ready ─► demo ─► number at the sandbox ─► how to use it
   ▲ started again when it ends; it ends when we end, even when we are killed, and its network is in DATA/sandbox
"""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from gatepost.admin import channels, demo
from gatepost.admin.demo import DemoOptions, Quickstart
from gatepost.cli.cell_databases import CellDatabases
from gatepost.cli.command import CommandSession, Config, Data, DatabaseUrl, load_settings, new_group
from gatepost.cli.http_call import call
from gatepost.cli.output import failing
from gatepost.cli.sandbox.child import running_sandbox
from gatepost.cli.sandbox.control_client import ControlClient
from gatepost.cli.sandbox.package import require_sandbox
from gatepost.cli.serve import OnReady, check_port, leave_root, run_gateway
from gatepost.clock import DatabaseClock, SystemClock
from gatepost.database_lifecycle import opened
from gatepost.model import ids
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict
from gatepost.running_address import noted_address
from gatepost.settings import Settings
from gatepost.store.accounts import list_accounts
from gatepost.store.channels import ChannelConfig
from gatepost.store.embedded import find_cluster, is_locked
from gatepost.store.embedded.data_folder import make_data_folder
from gatepost.store.network_updates import STALE_TEMPLATES, mark_stale

group = new_group()

HOST = "127.0.0.1"
RECIPIENT = "5511999998888"


@group.command("up")
def up(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the gateway.")] = 8080,
    sandbox_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the sandbox.")] = 8081,
    data: Data = None,
    database_url: DatabaseUrl = None,
    config: Config = None,
) -> None:
    """Run the gateway with the sandbox and a demo account."""
    with failing():
        require_sandbox()
        free_port = check_port(HOST, port, "--port (make run PORT=…)")
        check_port(HOST, sandbox_port, "--sandbox-port (make run SANDBOX_PORT=…)")
        places = {"server.host": HOST, "server.port": free_port}
        before = load_settings(data, database_url, config, places)
        processes = before.server.processes or 1
        shared = leave_root(before, processes)
        asyncio.run(check_demo(before))
        folder = sandbox_folder(load_settings(data, database_url, config).data_folder)
        with running_sandbox(HOST, sandbox_port, folder) as sandbox_url:
            settings = settings_for(sandbox_url, free_port, data, database_url, config)
            run_gateway(settings, on_ready=_welcome(settings, sandbox_url), port=shared, processes=processes)


async def check_demo(settings: Settings) -> None:
    """Refuse the database of a real gateway: its numbers would be connected to the sandbox, which rejects them."""
    folder, url = settings.data_folder, settings.database.url
    if demo.read_quickstart(folder) is not None or not (url or find_cluster(folder)):
        return
    async with opened(settings) as db:
        known = [account.id for account in await list_accounts(db)]
    if known and demo.ACCOUNT_ID not in known:
        raise Conflict(
            f"The database {'of database.url' if url else f'in {folder}'} has accounts, but not that of the demo. "
            "'gatepost up' would connect their numbers to the sandbox. Name another folder with --data (make run "
            "DATA=…), or start this gateway with: gatepost serve"
        )


def sandbox_folder(data: Path, patience: float = 10.0) -> Path:
    """Return the sandbox's folder once it is free: the sandbox of a killed gateway may still be stopping."""
    from gatepost_sandbox.storage import FolderInUse, wait_until_free

    make_data_folder(data)
    try:
        wait_until_free(data / "sandbox", patience)
    except FolderInUse:
        if is_locked(data):
            raise Conflict(
                f"A gateway runs in {data} already, at {noted_address(data)}. Stop it with Ctrl-C in its terminal, or "
                "name another folder with --data (make run DATA=…)."
            ) from None
        raise
    return data / "sandbox"


def settings_for(
    sandbox_url: str, port: int, data: Path | None, database_url: str | None, config: Path | None
) -> Settings:
    """Return the settings with the sandbox as the network, and with webhooks to this machine allowed."""
    allowed = load_settings(data, database_url, config).webhooks.allow
    overrides = {
        "server.host": HOST,
        "server.port": port,
        "cloud.base_url": sandbox_url,
        "qr.link_url": f"ws{sandbox_url.removeprefix('http')}/qr/link",
        "webhooks.allow": [*allowed, *demo.LOOPBACK],
        "clock.follow": sandbox_url,
    }
    return load_settings(data, database_url, config, overrides)


def _welcome(settings: Settings, sandbox_url: str) -> OnReady:
    async def ready(base_url: str) -> None:
        async with opened(settings) as db:
            session = CommandSession(settings, CellDatabases({MAIN: db}), DatabaseClock(SystemClock()))
            quickstart = await make_ready(session, base_url, sandbox_url)
        print(describe(quickstart, settings.data_folder), flush=True)

    return ready


async def make_ready(session: CommandSession, base_url: str, sandbox_url: str) -> Quickstart:
    """Create the demo account unless it exists, and register its number and callback address with the sandbox."""
    quickstart = await demo.make_demo(
        session.db,
        session.vault,
        folder=session.settings.data_folder,
        base_url=base_url,
        sandbox_url=sandbox_url,
        options=_demo_options(session.settings),
        now=session.now,
    )
    for channel in await demo.official_channels(session.db):
        await _register(session, channel, base_url, sandbox_url)
    await asyncio.to_thread(_prepare_sandbox, ControlClient(sandbox_url))
    await demo.link_phone(session.db, session.now)
    bearer = {"Authorization": f"Bearer {quickstart.channels[0].api_key}"}
    await asyncio.to_thread(call, f"{base_url}/api/v1/templates/sync", {}, bearer)
    return quickstart


async def _register(session: CommandSession, channel: ChannelConfig, base_url: str, sandbox_url: str) -> None:
    """Register an official number of the demo with the sandbox, and let the gateway read its templates."""
    kept = channels.open_channel_secrets(session.vault, channel)
    assert kept is not None
    number = {
        "phone_number_id": channel.network["phone_number_id"],
        "phone": channel.phone,
        "name": channel.name,
        "token": kept.token,
        "app_secret": kept.app_secret,
        "verify_token": kept.verify_token,
        "callback_url": f"{base_url}/callbacks/cloud/{ids.format_id('ch', channel.id)}",
        "limits": {"window": demo.OFFICIAL[channel.phone].window},
    }
    await asyncio.to_thread(call, f"{sandbox_url}/control/numbers", number)
    await mark_stale(session.db, channel.id, session.now, STALE_TEMPLATES)


def _prepare_sandbox(sandbox: ControlClient) -> None:
    """Let the demo's own phone scan its code, and give the recipient of the first message a name."""
    sandbox.post("phones", {"phone": demo.QR_PHONE, "name": "Demo QR number", "auto_scan": 1})
    if RECIPIENT not in [person["phone"] for person in sandbox.get("people")]:
        sandbox.put(f"people/{RECIPIENT}", {"name": "Ana Souza"})


def describe(quickstart: Quickstart, folder: Path) -> str:
    """Return the text that is printed when everything runs."""
    official, qr = quickstart.channels
    owner = quickstart.dashboard
    api = f"{quickstart.base_url}/api/v1"
    bearer = f"-H 'Authorization: Bearer {official.api_key}'"
    body = json.dumps({"phone": RECIPIENT, "body": "Hello"})
    return f"""
Gatepost is running. Stop it with Ctrl-C.

  Gateway      {quickstart.base_url}
  Dashboard    {owner.url}  (sign in as {owner.email} with {owner.password})
  Sandbox      {quickstart.sandbox_url}  (the simulated network: people, faults, clock)
  Phone        {quickstart.sandbox_url}/#/{RECIPIENT}  (open it to see and answer as the recipient)
  API keys     {official.api_key}  (official, {official.phone})
               {qr.api_key}  (qr, {qr.phone})
  More to try  {demo.WINDOW_PHONE}  (official, free text only within 24 hours of a message from the person)
               {demo.UNLINKED_PHONE}  (qr, link it in the dashboard and scan its code in the sandbox)
  Kept in      {folder / "quickstart.json"}

Send a message:

  curl -s {api}/message/send {bearer} -H 'Content-Type: application/json' -d '{body}'

Read its status, with the id from the response in place of ID:

  curl -s {api}/messages/ID {bearer}
"""


def _demo_options(settings: Settings) -> DemoOptions:
    """Return the limits of the demo. The first number has no window, so that a first try works with any number."""
    pace = settings.pace
    official = {
        "throughput": pace.throughput,
        "tier": pace.tier,
        "pair_seconds": pace.pair_seconds,
        "pair_burst": pace.pair_burst,
    }
    return DemoOptions(
        plan="starter" if "starter" in settings.plans else next(iter(settings.plans)),
        trial_days=settings.trial.days,
        limits=official,
        qr_limits={"throughput": pace.qr_throughput, "tier": 0},
    )
