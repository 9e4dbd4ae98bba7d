"""Reads of a channel with a long history, compared with a small one: pages, conversations, searches, export, accepts.

    generated history ─► GET /messages, /conversations, /contacts, one request at a time
                      ─► GET /messages/export
                      ─► POST /message/send, 64 connections

The gateway has the role `api`: it sends no messages and delivers no webhooks meanwhile.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from pyreqwest.client import Client

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, new_client, running_gateway
from bench.history_data import Past, fill_past
from bench.load import FIRST, RECIPIENTS
from bench.measure import Sample
from bench.processes import BenchFailed
from bench.tenant import Tenant, make_tenant

FEW, MANY = 10_000, 1_000_000
_TIMES = 150
_EXPORTED = 50_000
_CONNECTIONS = 64
_SETTLE = 2.0  # seconds until all generated data is written, and its CPU time counted
_NAMES = ("Ana", "Bru", "Carla", "die", "Elisa F", "feli", "Gabriela A", "hug", "in", "Joao Z")
_QUESTIONS = {
    "page, newest": "messages",
    "page, a month back": "messages?to={past}",
    "page of one person": "messages?phone={phone}",
    "page, status FAILED (none fits)": "messages?status=FAILED",
    "conversations, newest": "conversations",
    "conversations, unread": "conversations?unread=true",
    "conversations, 100 with a label": "conversations?label={label}&limit=100",
    "contacts, by name": "contacts?q={name}",
    "contacts, by number": "contacts?q={number}",
    "search, common word": "messages?q=w1",
    "search, common word, a month back": "messages?q=w1&to={past}",
    "search, middling word": "messages?q=w{middling}",
    "search, rare word": "messages?q=w{rare}",
    "search, two words": "messages?q=w3+w{middling}",
    "search, unfinished word": "messages?q=w{prefix}",
}


class Looks(msgspec.Struct, frozen=True):
    """The results of one repeated query, in seconds. `cpu` is that of gateway and PostgreSQL per query."""

    name: str
    p50: float
    p99: float
    cpu: float


class Channel(msgspec.Struct, frozen=True):
    """The results for a channel of one size."""

    messages: int
    people: int
    looks: list[Looks]
    exported: float  # messages a second
    indexed: float  # messages a second
    accept: Sample


class HistoryFindings(msgspec.Struct, frozen=True):
    few: Channel
    many: Channel


async def measure_history(folder: Path, messages: int, seconds: float, progress: ShowProgress) -> HistoryFindings:
    """Fill two channels of one database, and measure both in turns."""
    config = write_config(folder)
    async with running_gateway(folder, config, role="api") as gateway, new_client() as client:
        filled = [await _fill(gateway, config, count, progress) for count in (FEW, messages)]
        await asyncio.sleep(_SETTLE)
        progress("history: looking back")
        looks = [[await _ask(gateway, client, *one, name) for one in filled] for name in _QUESTIONS]
        exported = [await _export(gateway, client, tenant) for tenant, _ in filled]
        progress("history: accepting")
        recipients = min(RECIPIENTS, *(past.people for _, past in filled))  # as many, and as recent, on both
        accepts = [await _accept(gateway, tenant, recipients, seconds) for tenant, _ in filled]
    return HistoryFindings(
        *(
            Channel(past.messages, past.people, [each[i] for each in looks], exported[i], past.indexed, accepts[i])
            for i, (_, past) in enumerate(filled)
        )
    )


async def _fill(gateway: Gateway, config: Path, messages: int, progress: ShowProgress) -> tuple[Tenant, Past]:
    progress(f"history: filling a channel with {messages:,} messages")
    tenant = await make_tenant(gateway, config)
    return tenant, await fill_past(gateway.dsn, tenant.channel_id, messages)


async def _accept(gateway: Gateway, tenant: Tenant, recipients: int, seconds: float) -> Sample:
    arguments = {"connections": _CONNECTIONS, "key": tenant.key, "first": FIRST, "recipients": recipients}
    return await measure.load(gateway.port, gateway.cpu, seconds=seconds, **arguments)


async def _ask(gateway: Gateway, client: Client, tenant: Tenant, past: Past, name: str) -> Looks:
    """Send queries one after the other, each with other words and people."""
    took, before = [], gateway.cpu()
    for turn in range(_TIMES):
        asked = _question(name, past, turn)
        began = time.perf_counter()
        answer = await _get(gateway, client, tenant, f"/api/v1/{asked}")
        took.append(time.perf_counter() - began)
        if answer[:15] != b'{"success":true':
            raise BenchFailed(f"{asked}: {answer[:300]!r}")
    used = gateway.cpu() - before
    return Looks(name, _quantile(took, 0.5), _quantile(took, 0.99), (used.gateway + used.postgres) / _TIMES)


def _question(name: str, past: Past, turn: int) -> str:
    phone = FIRST + turn * 7919 % past.people
    return _QUESTIONS[name].format(
        past=(datetime.now(UTC) - timedelta(days=30)).date(),
        phone=phone,
        number=str(phone)[: -1 - turn % 3],
        label=past.label,
        name=_NAMES[turn % len(_NAMES)].replace(" ", "+"),
        middling=200 + turn,
        rare=20_000 + turn,
        prefix=1000 + turn,
    )


async def _export(gateway: Gateway, client: Client, tenant: Tenant) -> float:
    """Return the exported messages per second, measured over the first part of the file."""
    request = client.get(f"http://127.0.0.1:{gateway.port}/api/v1/messages/export?format=ndjson")
    began, lines = time.perf_counter(), 0
    async with request.headers({"authorization": f"Bearer {tenant.key}"}).build_streamed() as answer:
        while lines < _EXPORTED and (piece := await answer.body_reader.read_chunk()):
            lines += bytes(piece).count(b"\n")
    return lines / (time.perf_counter() - began)


async def _get(gateway: Gateway, client: Client, tenant: Tenant, path: str) -> bytes:
    request = client.get(f"http://127.0.0.1:{gateway.port}{path}").headers({"authorization": f"Bearer {tenant.key}"})
    answer = await request.build().send()
    return bytes(await answer.bytes())


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
