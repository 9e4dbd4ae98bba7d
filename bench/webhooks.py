"""Webhooks: rate, cost, lag, and the effect of a dead endpoint.

    events written in advance ─► gateway ─► receiver        only delivering is measured

`bench.event_writer` writes the events: no message is accepted, sent or received. The result includes all that the
gateway and PostgreSQL do for a delivery: reading it, signing, the POST, and the log of the attempt. For the lag, see
`bench/lag.py`. The baseline is an HTTP client alone (pyreqwest), which posts an event with the headers of a webhook to
the same receiver, with as many POSTs in flight as the gateway. The gateway's own client alone is shown as well. Single
events are also delivered over TLS, with a baseline over TLS.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.certificate import Certificate, make_certificate
from bench.data_folder import data_folder, write_config
from bench.endpoints import Hooks, check_delivered, write_events
from bench.gateway import Cpu, Gateway, new_client, running_gateway
from bench.lag import Lag, measure_lags
from bench.measure import Sample
from bench.processes import Child, running
from bench.tenant import make_tenant

BATCH = 100
_IN_FLIGHT = 64  # the setting webhooks.in_flight
_EVENTS, _BATCHED_EVENTS = 20_000, 60_000
_WARM = 0.2  # share of the events that are not measured


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """The results of delivering from a full queue. Times are in seconds, for all events together."""

    events: int
    posts: int
    seconds: float
    gateway_cpu: float
    postgres_cpu: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0

    def micros(self, seconds: float) -> float:
        """Convert total seconds to microseconds per event."""
        return seconds / self.events * 1e6 if self.events else 0.0


class WebhookFindings(msgspec.Struct, frozen=True):
    floor: Sample
    own: Sample  # the gateway's own client alone
    plain: Delivered
    batched: Delivered
    secure_floor: Sample  # over TLS
    secure_own: Sample
    secure: Delivered
    load: float  # events per second while the lag was measured
    lags: list[Lag]  # the first one alone, the others with a dead endpoint


async def measure_webhooks(seconds: float, progress: ShowProgress) -> WebhookFindings:
    """Measure the rates, each on a new database and with the baseline before and after, then the lag."""
    floors, own, plain = await _single(None, seconds, progress)
    batched = await _deliver(None, _BATCHED_EVENTS, BATCH, progress)
    with data_folder() as folder:
        secure_floors, secure_own, secure = await _single(make_certificate(folder), seconds, progress)
    load = plain.rate / 2
    lags = await measure_lags(load, 2 * seconds, progress)
    return WebhookFindings(floors, own, plain, batched, secure_floors, secure_own, secure, load, lags)


async def _single(
    certificate: Certificate | None, seconds: float, progress: ShowProgress
) -> tuple[Sample, Sample, Delivered]:
    """Measure deliveries of one event each, and the two clients alone before and after them."""
    floors = [await _floor("hooks", certificate, seconds, progress)]
    own = [await _floor("own", certificate, seconds, progress)]
    delivered = await _deliver(certificate, _EVENTS, 1, progress)
    floors.append(await _floor("hooks", certificate, seconds, progress))
    own.append(await _floor("own", certificate, seconds, progress))
    return measure.merge(floors), measure.merge(own), delivered


@asynccontextmanager
async def _running_receiver(certificate: Certificate | None) -> AsyncIterator[tuple[Child, int]]:
    """Run a receiver; yield it with its port."""
    options = ["--certificate", str(certificate.file)] if certificate else []
    async with running("bench.receiver", *options) as receiver:
        yield receiver, (await receiver.receive())["port"]


async def _floor(kind: str, certificate: Certificate | None, seconds: float, progress: ShowProgress) -> Sample:
    client = "the gateway's client alone" if kind == "own" else "floor, the HTTP client alone"
    progress(f"webhooks: {client}{_over(certificate)}")
    async with _running_receiver(certificate) as (_, port):
        arguments = ["--kind", kind, "--port", str(port), "--batch", str(_IN_FLIGHT), "--seconds", str(seconds)]
        arguments += ["--scheme", _scheme(certificate)]
        async with running("bench.baseline_parts", *arguments, environ=_trusted(certificate)) as driver:
            return await measure.sample(driver, lambda: Cpu(0.0, 0.0), seconds)


async def _deliver(certificate: Certificate | None, events: int, batch: int, progress: ShowProgress) -> Delivered:
    """Fill the queue with a gateway that does not deliver, then measure one that does."""
    progress(f"webhooks: {events:,} events, {batch} in a POST{_over(certificate)}")
    with data_folder() as folder:
        async with _running_receiver(certificate) as (receiver, port), new_client() as client:
            url = f"{_scheme(certificate)}://127.0.0.1:{port}/hook"
            config = write_config(folder)
            async with running_gateway(folder, config, role="api") as gateway:
                tenant = await make_tenant(gateway, config)
                await Hooks(gateway, client, tenant).make(url, batch)
                await write_events(gateway, tenant, events)
            async with running_gateway(folder, config, environ=_trusted(certificate)) as gateway:
                found = await _work_off(gateway, receiver, events)
                await check_delivered(gateway, tenant, url)
    return found


def _scheme(certificate: Certificate | None) -> str:
    return "https" if certificate else "http"


def _over(certificate: Certificate | None) -> str:
    return " over TLS" if certificate else ""


def _trusted(certificate: Certificate | None) -> dict[str, str]:
    return certificate.trusted if certificate else {}


async def _work_off(gateway: Gateway, receiver: Child, events: int) -> Delivered:
    """Measure the deliveries after the warm-up events, up to the last one."""
    first = await _until(receiver, int(events * _WARM))
    before = gateway.cpu()
    last = await _until(receiver, events)
    used = gateway.cpu() - before
    return Delivered(
        events=last["events"] - first["events"],
        posts=last["requests"] - first["requests"],
        seconds=last["last"] - first["last"],
        gateway_cpu=used.gateway,
        postgres_cpu=used.postgres,
    )


async def _until(receiver: Child, events: int) -> dict[str, Any]:
    while (received := await receiver.receive(60))["events"] < events:
        pass
    return received
