"""Webhook endpoints: addresses, the six switches, headers, and the secrets that sign.

Where an address leads is judged by `webhooks/guard.py`, which the doors call before they come here.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_url
from gatepost.admin.headers import open_headers, seal_headers
from gatepost.admin.signing import (
    DEFAULT_OVERLAP,
    SigningSecret,
    check_overlap,
    make_secret,
    open_secrets,
    rotated,
    seal_secrets,
)
from gatepost.admin.vault import Vault
from gatepost.model import ids
from gatepost.model.endpoint import ACTIVE, DEFAULT_OPTIONS, DISABLED, DeliveryOptions, check_options
from gatepost.model.errors import Conflict, NotFound, invalid_field
from gatepost.model.event import ALL_TYPES, TYPES, ChannelRef
from gatepost.model.problem_collector import ProblemCollector
from gatepost.model.signing import V1
from gatepost.store import endpoints as store
from gatepost.store.channel_head import StaleOwner
from gatepost.store.channels import get_config
from gatepost.store.endpoints import Endpoint, EndpointChange
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Database

ENDPOINTS_MAX = 20
HEADERS_MAX = 20
HEADER_VALUE_MAX = 1024
STATES = (ACTIVE, DISABLED)  # that people set; the breaker sets the third
SWITCHED_OFF = "Switched off by its owner."
_ROTATIONS = 5  # at the same moment that can overtake one of them
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_RESERVED = frozenset({"content-type", "user-agent", "host", "content-length", "transfer-encoding"}) | frozenset(
    {"connection", "expect", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade"}
)


class NewEndpoint(msgspec.Struct, frozen=True):
    """An endpoint and its fresh signing secret; what its owner sees of that is `fresh.shown`."""

    endpoint: Endpoint
    fresh: SigningSecret

    @property
    def secret(self) -> str:
        """The secret, or the public key where there is one."""
        return self.fresh.shown


async def create_endpoint(
    db: Database,
    vault: Vault,
    channel_id: UUID,
    url: str,
    *,
    events: Sequence[str] = TYPES,
    headers: Mapping[str, str] | None = None,
    options: DeliveryOptions = DEFAULT_OPTIONS,
    signing: str = V1,
    now: datetime,
    once: IdempotentRequest[NewEndpoint] = NEVER,
) -> NewEndpoint:
    """Makes an endpoint that gets events from now on, and the secret that signs them."""
    endpoint_id, fresh = ids.new_id(now), make_secret(signing)
    change = check_endpoint(url=url, events=events, headers=headers or {}, options=options)
    try:
        endpoint = await store.insert_endpoint(
            db,
            channel_id,
            endpoint_id,
            url=url,
            events=change.events or (),
            headers=seal_headers(vault, endpoint_id, change.headers or {}),
            secret=seal_secrets(vault, endpoint_id, (fresh,)),
            options=options,
            most=ENDPOINTS_MAX,
            now=now,
            once=once.through(lambda endpoint: NewEndpoint(endpoint, fresh)),
        )
    except StaleOwner:
        raise NotFound(f"There is no channel {ids.show('ch', channel_id)}.") from None
    if endpoint is None:
        raise Conflict(f"A channel may have at most {ENDPOINTS_MAX} endpoints. Delete one first.")
    return NewEndpoint(endpoint, fresh)


async def get_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> Endpoint:
    """One endpoint of a channel, or NotFound."""
    return _known(await store.get_endpoint(db, channel_id, endpoint_id), endpoint_id)


async def list_endpoints(db: Database, channel_id: UUID) -> list[Endpoint]:
    """The endpoints of a channel, the oldest first."""
    return await store.list_endpoints(db, channel_id)


async def change_endpoint(
    db: Database,
    vault: Vault,
    channel_id: UUID,
    endpoint_id: UUID,
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    options: DeliveryOptions | None = None,
    state: str | None = None,
    now: datetime,
) -> Endpoint:
    """Changes what is given and leaves the rest; a change of state is told by an event."""
    change = check_endpoint(url=url, events=events, headers=headers, options=options, state=state)
    if change.headers is not None:
        change = msgspec.structs.replace(change, headers=seal_headers(vault, endpoint_id, change.headers))
    if state is None:
        return _known(await store.update_endpoint(db, channel_id, endpoint_id, change, now), endpoint_id)
    config = await get_config(db, channel_id)
    if config is None:
        raise _unknown(endpoint_id)
    channel = ChannelRef(ids.show("ch", config.id), config.kind, config.phone)
    return _known(await store.set_endpoint_state(db, channel, channel_id, endpoint_id, change, now), endpoint_id)


async def rotate_secret(
    db: Database,
    vault: Vault,
    channel_id: UUID,
    endpoint_id: UUID,
    *,
    overlap: timedelta = DEFAULT_OVERLAP,
    signing: str | None = None,
    now: datetime,
) -> NewEndpoint:
    """Makes a new signing secret, of the same kind unless said; the old ones sign too until `overlap` is over."""
    check_overlap(overlap)
    for _ in range(_ROTATIONS):
        before = await get_endpoint(db, channel_id, endpoint_id)
        kept = signing_secrets(vault, before)
        fresh = make_secret(signing or kept[0].signing)
        sealed = seal_secrets(vault, endpoint_id, rotated(kept, fresh, overlap, now))
        changed = await store.replace_secret(db, channel_id, endpoint_id, before.secret, sealed, now)
        if changed is not None:
            return NewEndpoint(changed, fresh)
    raise Conflict("The secret was rotated by others at the same moment. Look at the endpoint, then try again.")


async def delete_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> None:
    """Removes an endpoint; what was delivered stays in the log."""
    if not await store.delete_endpoint(db, channel_id, endpoint_id):
        raise _unknown(endpoint_id)


def signing_secrets(vault: Vault, endpoint: Endpoint) -> tuple[SigningSecret, ...]:
    """All secrets that are kept for an endpoint, the newest first."""
    return open_secrets(vault, endpoint.id, endpoint.secret)


def headers_of(vault: Vault, endpoint: Endpoint) -> dict[str, str]:
    """The headers that an endpoint gets along, with their values."""
    return open_headers(vault, endpoint.id, endpoint.headers)


def check_endpoint(
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    options: DeliveryOptions | None = None,
    state: str | None = None,
) -> EndpointChange:
    """What is given, if all of it may be so; or one error that names every wrong field."""
    problems = ProblemCollector()
    change = EndpointChange(
        url=None if url is None else problems.read(check_url, url),
        events=None if events is None else problems.read(check_events, events),
        headers=None if headers is None else problems.read(check_headers, headers),
        options=None if options is None else problems.read(check_options, options),
        state=None if state is None else problems.read(check_state, state),
        reason=SWITCHED_OFF if state == DISABLED else None,
    )
    problems.check()
    return change


def check_events(events: Sequence[str]) -> tuple[str, ...]:
    """The switches that are on, each once, in the usual order."""
    if set(events) - set(ALL_TYPES):
        raise invalid_field("events", f"must be among: {', '.join(ALL_TYPES)}")
    return tuple(type_ for type_ in ALL_TYPES if type_ in events)


def check_state(state: str) -> str:
    """On or off."""
    if state not in STATES:
        raise invalid_field("state", f"must be one of: {', '.join(STATES)}")
    return state


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that a customer adds: few, well formed, and none that the gateway or the signature uses."""
    if len(headers) > HEADERS_MAX:
        raise invalid_field("headers", f"may be at most {HEADERS_MAX}, but are {len(headers)}")
    if len({name.lower() for name in headers}) != len(headers):
        raise invalid_field("headers", "must not name a header twice")
    for name, value in headers.items():
        _check_header(name, value)
    return dict(headers)


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise invalid_field("headers", f"{name[:100]!r} is not a header's name")
    if name.lower() in _RESERVED or name.lower().startswith("webhook-"):
        raise invalid_field("headers", f"{name} is set by the gateway and cannot be chosen")
    if len(value) > HEADER_VALUE_MAX:
        raise invalid_field("headers", f"the value of {name} may have at most {HEADER_VALUE_MAX} characters")
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise invalid_field("headers", f"the value of {name} must be printable ASCII without spaces at its ends")


def _known(endpoint: Endpoint | None, endpoint_id: UUID) -> Endpoint:
    if endpoint is None:
        raise _unknown(endpoint_id)
    return endpoint


def _unknown(endpoint_id: UUID) -> NotFound:
    return NotFound(f"There is no webhook endpoint {ids.show('we', endpoint_id)}.")
