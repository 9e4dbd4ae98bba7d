"""The demo: an account with four channels for a first start.

    account (a fixed id) ─► owner ─► channels ─► a key for the first two ─► quickstart.json, last

The first two work at once: an official number without the 24-hour window, and a phone that scans its code without a
person. The other two are for trying what people do in production: an official number with the window, and a phone
whose code waits for a scan. They are created at the first start only, so that they can be deleted.

Each step is done only if its result is missing, and what the file contains is kept as long as it works. So the next
start completes an interrupted one, and restores a lost file or database.
"""

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec

from gatepost.admin import channels, keys, users
from gatepost.admin.channels import CloudNumber
from gatepost.admin.limits import Limits
from gatepost.admin.vault import Vault, VaultError, private_file
from gatepost.model import ids
from gatepost.model.account import check_key, key_hash
from gatepost.model.errors import NotAuthenticated
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.store import accounts as account_rows
from gatepost.store import keys as key_rows
from gatepost.store import users as user_rows
from gatepost.store.accounts import Account
from gatepost.store.channels import ChannelConfig, list_channels
from gatepost.store.links import request_link
from gatepost.store.pool import Database

FILE = "quickstart.json"
ACCOUNT_ID = ids.derived_id(datetime(2026, 1, 1, tzinfo=UTC), "gatepost demo account")
EMAIL = "owner@demo.example"
WABA_ID = "102290129340398"
OFFICIAL_PHONE, QR_PHONE = "15550001111", "15550002222"
WINDOW_PHONE, UNLINKED_PHONE = "15550003333", "15550004444"
LOOPBACK = ("127.0.0.0/8", "::1/128")  # where webhooks of the demo may go, too


class DemoNumber(msgspec.Struct, frozen=True):
    """An official number of the demo."""

    id: str
    name: str
    window: bool


OFFICIAL = {
    OFFICIAL_PHONE: DemoNumber("100000000000001", "Demo official number", window=False),
    WINDOW_PHONE: DemoNumber("100000000000002", "Demo number with 24-hour window", window=True),
}


class DemoSignIn(msgspec.Struct, frozen=True):
    """The sign-in of the owner; `url` is that of the gateway."""

    url: str
    email: str
    password: str


class DemoChannel(msgspec.Struct, frozen=True):
    """A channel of the demo and its key."""

    id: str
    kind: str
    phone: str
    api_key: str


class Quickstart(msgspec.Struct, frozen=True):
    """All that is needed to try the gateway: the content of quickstart.json."""

    base_url: str
    sandbox_url: str
    dashboard: DemoSignIn
    channels: tuple[DemoChannel, ...]


class DemoOptions(msgspec.Struct, frozen=True):
    """The settings for new accounts and numbers."""

    plan: str
    trial_days: int
    limits: Limits
    qr_limits: Limits


async def make_demo(
    db: Database,
    vault: Vault,
    *,
    folder: Path,
    base_url: str,
    sandbox_url: str,
    options: DemoOptions,
    now: datetime,
) -> Quickstart:
    """Create what is missing of the demo, and write quickstart.json."""
    before = read_quickstart(folder)
    await _ensure_account(db, options, now)
    password = await _ensure_owner(db, before, now)
    pair = await _ensure_channels(db, vault, options, now, others=before is None)
    after = Quickstart(
        base_url=base_url,
        sandbox_url=sandbox_url,
        dashboard=DemoSignIn(f"{base_url}/", EMAIL, password),
        channels=tuple([await _with_key(db, channel, before, now) for channel in pair]),
    )
    if after != before:
        content = msgspec.json.format(msgspec.json.encode(after), indent=2) + b"\n"
        with private_file(folder / FILE, content) as draft:
            draft.replace(folder / FILE)
    return after


async def official_channels(db: Database) -> list[ChannelConfig]:
    """Return the official channels of the demo that exist, the main one first."""
    known = {channel.phone: channel for channel in await list_channels(db, ACCOUNT_ID)}
    return [known[phone] for phone in OFFICIAL if phone in known]


async def link_phone(db: Database, now: datetime) -> None:
    """Request the link of the demo's QR number; the sandbox's phone scans the code."""
    for channel in await list_channels(db, ACCOUNT_ID):
        if channel.phone == QR_PHONE:
            await request_link(db, channel.id, now, wanted=True)


def read_quickstart(folder: Path) -> Quickstart | None:
    """Return what an earlier start wrote; None if there is nothing valid."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Quickstart)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


async def _ensure_account(db: Database, options: DemoOptions, now: datetime) -> None:
    if await account_rows.get_account(db, ACCOUNT_ID) is None:
        ends = now + timedelta(days=options.trial_days)
        await account_rows.insert_account(db, Account(ACCOUNT_ID, "Demo", options.plan, False, ends, now))


async def _ensure_owner(db: Database, before: Quickstart | None, now: datetime) -> str:
    """Return the password in the file. If the owner has changed it since, it is left unchanged."""
    user = await user_rows.get_user_by_email(db, EMAIL)
    if user is None:
        return (await users.create_user(db, ACCOUNT_ID, EMAIL, now=now)).password
    if before is not None:
        return before.dashboard.password
    return (await users.change_password(db, ACCOUNT_ID, user.id, now=now)).password


async def _ensure_channels(
    db: Database, vault: Vault, options: DemoOptions, now: datetime, *, others: bool
) -> list[ChannelConfig]:
    """Return the first two channels; `others`: the other two are created as well."""
    known = {channel.phone: channel for channel in await list_channels(db, ACCOUNT_ID)}
    for phone in OFFICIAL:
        if phone not in known and (others or phone == OFFICIAL_PHONE):
            known[phone] = await _make_official(db, vault, phone, options, _created_at(phone, now))
        elif phone in known:
            known[phone] = await _readable(db, vault, known[phone], now)
    for phone, name in ((QR_PHONE, "Demo QR number"), (UNLINKED_PHONE, "Demo QR number to link")):
        if phone not in known and (others or phone == QR_PHONE):
            known[phone] = await channels.create_qr(
                db, ACCOUNT_ID, phone=phone, name=name, limits=options.qr_limits, now=_created_at(phone, now)
            )
    return [known[OFFICIAL_PHONE], known[QR_PHONE]]


def _created_at(phone: str, now: datetime) -> datetime:
    """Return a time for each channel, so that lists have them in this order: those that work at once come first."""
    order = (OFFICIAL_PHONE, QR_PHONE, WINDOW_PHONE, UNLINKED_PHONE)
    return now + timedelta(milliseconds=order.index(phone))


async def _make_official(db: Database, vault: Vault, phone: str, options: DemoOptions, now: datetime) -> ChannelConfig:
    fresh, number = _new_secrets(), OFFICIAL[phone]
    return await channels.create_official(
        db,
        vault,
        ACCOUNT_ID,
        phone=phone,
        name=number.name,
        number=CloudNumber(number.id, WABA_ID),
        token=fresh.token,
        app_secret=fresh.app_secret,
        verify_token=fresh.verify_token,
        limits={**options.limits, "window": int(number.window)},
        now=now,
    )


async def _readable(db: Database, vault: Vault, channel: ChannelConfig, now: datetime) -> ChannelConfig:
    """Give the channel new secrets if the key that encrypted the old ones is lost."""
    try:
        channels.open_channel_secrets(vault, channel)
        return channel
    except VaultError:
        return await channels.change_secrets(db, vault, ACCOUNT_ID, channel.id, _new_secrets(), now=now)


async def _with_key(db: Database, channel: ChannelConfig, before: Quickstart | None, now: datetime) -> DemoChannel:
    channel_id = ids.format_id("ch", channel.id)
    for key in [one.api_key for one in before.channels if one.id == channel_id] if before else []:
        if await _works(db, key, channel.id, now):
            return DemoChannel(channel_id, channel.kind, channel.phone, key)
    made = await keys.create_key(db, channel.id, "Quickstart", now=now)
    return DemoChannel(channel_id, channel.kind, channel.phone, made.text)


async def _works(db: Database, key: str, channel_id: UUID, now: datetime) -> bool:
    try:
        return check_key(await key_rows.find_caller(db, key_hash(key)), now).channel_id == channel_id
    except NotAuthenticated:
        return False


def _new_secrets() -> ChannelSecrets:
    return ChannelSecrets(secrets.token_urlsafe(24), secrets.token_hex(16), secrets.token_urlsafe(24))
