"""Accepts over many channels of one account, which must not wait for each other."""

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import data_folder, write_config
from bench.gateway import Gateway, running_gateway
from bench.measure import Sample
from bench.tenant import Tenant, add_channels, make_tenant

CHANNELS = (1, 20, 200)
CONNECTIONS = 64
_ROUNDS = 3
_RECIPIENTS = 2000  # a multiple of each number of channels, so that each channel knows its own


class ChannelsRow(msgspec.Struct, frozen=True):
    """The results with a number of channels of one account."""

    channels: int
    accept: Sample


class ChannelsFindings(msgspec.Struct, frozen=True):
    rows: list[ChannelsRow]
    first: Sample  # the first message of the month on each of many channels


async def measure_channels(seconds: float, progress: ShowProgress) -> ChannelsFindings:
    """Measure accepts with a fixed number of connections, spread over more and more channels (role `api`)."""
    with data_folder() as folder:
        config = write_config(folder)
        progress("channels: starting a gateway (role api)")
        async with running_gateway(folder, config, role="api") as gateway:
            tenant = await make_tenant(gateway, config)
            keys = [tenant.key, *await add_channels(gateway, tenant.account_id, CHANNELS[-1] - 1)]
            await _meet(gateway, keys, progress)
            rounds = [await _round(gateway, keys, seconds / _ROUNDS, n + 1, progress) for n in range(_ROUNDS)]
            rows = [measure.merge([samples[i] for samples in rounds]) for i in range(len(CHANNELS))]
            first = await _first_messages(gateway, tenant, progress)
    return ChannelsFindings([ChannelsRow(n, row) for n, row in zip(CHANNELS, rows, strict=True)], first)


async def _meet(gateway: Gateway, keys: list[str], progress: ShowProgress) -> None:
    """Send a message to all recipients, so that they are known when the measurement begins."""
    progress(f"channels: meeting {_RECIPIENTS} recipients")
    for channels in CHANNELS:
        arguments = {"key": ",".join(keys[:channels]), "recipients": _RECIPIENTS, "requests": _RECIPIENTS}
        await measure.load(gateway.port, gateway.cpu, seconds=60, connections=CONNECTIONS, **arguments)


async def _round(gateway: Gateway, keys: list[str], seconds: float, turn: int, progress: ShowProgress) -> list[Sample]:
    """Measure in alternating rounds, so that other load on the machine affects all measurements equally."""
    found = []
    for channels in CHANNELS:
        progress(f"channels: {CONNECTIONS} connections over {channels} channels, round {turn} of {_ROUNDS}")
        used = ",".join(keys[:channels])
        arguments = {"connections": CONNECTIONS, "warm_up": 0.5, "key": used, "recipients": _RECIPIENTS}
        found.append(await measure.load(gateway.port, gateway.cpu, seconds=seconds, **arguments))
    return found


async def _first_messages(gateway: Gateway, tenant: Tenant, progress: ShowProgress) -> Sample:
    """Measure one message on each of many channels that have not sent yet."""
    many = 5 * CHANNELS[-1]
    progress(f"channels: the first message on each of {many} channels")
    keys = await add_channels(gateway, tenant.account_id, many)
    arguments = {"connections": CONNECTIONS, "key": ",".join(keys), "requests": many, "recipients": many}
    return await measure.load(gateway.port, gateway.cpu, seconds=60, **arguments)
