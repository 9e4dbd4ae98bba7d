"""How many processes a gateway has, and which part of its limits each of them gets."""

import os

import msgspec

from gatepost.settings import Settings

MOST_BY_DEFAULT = 8
_LEAST_CONNECTIONS = 4  # to the database: each process reserves some for accepting, receiving and owning


def default_processes() -> int:
    """Return one process per two cores: PostgreSQL and the other programs need the rest."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores // 2, MOST_BY_DEFAULT))


def share_of(settings: Settings, processes: int) -> Settings:
    """Return the settings of one of several processes: limits of the whole gateway are divided, rounded up.

    Limits per key and per channel are not divided: all requests of a client may arrive at the same process.
    """
    if processes == 1:
        return settings

    def part(total: int, least: int = 1) -> int:
        return max(least, -(-total // processes))

    server, api, database = settings.server, settings.api, settings.database
    replace = msgspec.structs.replace
    return replace(
        settings,
        server=replace(
            server,
            connections=part(server.connections),
            connections_per_address=part(server.connections_per_address),
            callback_memory=part(server.callback_memory, 4 * server.callback_limit),
        ),
        database=replace(database, connections=max(_LEAST_CONNECTIONS, database.connections // processes)),
        api=replace(api, queue=part(api.queue), costly=part(api.costly)),
        webhooks=replace(settings.webhooks, total_in_flight=part(settings.webhooks.total_in_flight)),
        media=replace(settings.media, in_flight=part(settings.media.in_flight, 4)),
    )
