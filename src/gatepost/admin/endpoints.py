"""Webhook endpoints: URL, event types, headers and signing secrets.

Whether a URL may be called is checked by `webhooks/guard.py` before.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_found, check_url
from gatepost.admin.headers import open_headers, seal_headers
from gatepost.admin.signing import (
    DEFAULT_OVERLAP,
    SigningSecret,
    check_overlap,
    make_secret,
    open_signing_secrets,
    rotated,
    seal_signing_secrets,
)
from gatepost.admin.vault import Vault, VaultError
from gatepost.model import ids
from gatepost.model.delivery import is_reserved_header, masked
from gatepost.model.endpoint import ACTIVE, DEFAULT_OPTIONS, DISABLED, SWITCHED_OFF, DeliveryOptions, check_options
from gatepost.model.errors import Conflict, NotFound, invalid_field
from gatepost.model.event import ALL_TYPES, TYPES
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
STATES = (ACTIVE, DISABLED)  # that users may set; only the breaker sets the third
_ROTATIONS = 5  # concurrent rotations after which one gives up
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


class NewEndpoint(msgspec.Struct, frozen=True):
    """An endpoint and its new signing secret; its owner sees `fresh.shown`."""

    endpoint: Endpoint
    fresh: SigningSecret

    @property
    def secret(self) -> str:
        """The secret, or the public key if there is one."""
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
    """Create an endpoint that gets events from now on, and its signing secret."""
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
            secret=seal_signing_secrets(vault, endpoint_id, (fresh,)),
            options=options,
            limit=ENDPOINTS_MAX,
            now=now,
            once=once.through(lambda endpoint: NewEndpoint(endpoint, fresh)),
        )
    except StaleOwner:
        raise NotFound(f"There is no channel {ids.format_id('ch', channel_id)}.") from None
    if endpoint is None:
        raise Conflict(f"A channel may have at most {ENDPOINTS_MAX} endpoints. Delete one first.")
    return NewEndpoint(endpoint, fresh)


async def get_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> Endpoint:
    """Return an endpoint of a channel, or raise NotFound."""
    return check_found(await store.get_endpoint(db, channel_id, endpoint_id), "we", endpoint_id)


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
    before: Endpoint | None = None,
    now: datetime,
) -> Endpoint:
    """Change what is given and keep the rest; a change of state emits an event.

    With the row `before`, of the events and options only those that differ from it.
    """
    change = check_endpoint(url=url, events=events, headers=headers, options=options, state=state)
    sealed = None if change.headers is None else seal_headers(vault, endpoint_id, change.headers)
    change = msgspec.structs.replace(change, headers=sealed, before=before)
    if state is None:
        changed = await store.update_endpoint(db, channel_id, endpoint_id, change, now)
    else:
        config = check_found(await get_config(db, channel_id), "we", endpoint_id)
        changed = await store.set_endpoint_state(db, config.ref, channel_id, endpoint_id, change, now)
    return check_found(changed, "we", endpoint_id)


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
    """Create a new signing secret, of the same scheme by default; the old ones keep signing for `overlap`."""
    check_overlap(overlap)
    for _ in range(_ROTATIONS):
        before = await get_endpoint(db, channel_id, endpoint_id)
        kept = readable_secrets(vault, before)
        fresh = make_secret(signing or (kept[0].signing if kept else V1))
        sealed = seal_signing_secrets(vault, endpoint_id, rotated(kept, fresh, overlap, now))
        changed = await store.replace_secret(db, channel_id, endpoint_id, before.secret, sealed, now)
        if changed is not None:
            return NewEndpoint(changed, fresh)
    raise Conflict("The secret was rotated by other requests at the same time. Check the endpoint, then try again.")


async def delete_endpoint(db: Database, channel_id: UUID, endpoint_id: UUID) -> None:
    """Delete an endpoint; its deliveries stay in the log."""
    check_found(await store.delete_endpoint(db, channel_id, endpoint_id), "we", endpoint_id)


def signing_secrets(vault: Vault, endpoint: Endpoint) -> tuple[SigningSecret, ...]:
    """Return the stored secrets of an endpoint, newest first."""
    return open_signing_secrets(vault, endpoint.id, endpoint.secret)


def readable_secrets(vault: Vault, endpoint: Endpoint) -> tuple[SigningSecret, ...]:
    """Return the stored secrets of an endpoint, newest first; none if the key that encrypted them is lost."""
    try:
        return signing_secrets(vault, endpoint)
    except VaultError:
        return ()


def headers_of(vault: Vault, endpoint: Endpoint) -> dict[str, str]:
    """Return the own headers of an endpoint with their values."""
    return open_headers(vault, endpoint.id, endpoint.headers)


def readable_headers(vault: Vault, endpoint: Endpoint) -> dict[str, str]:
    """Return the own headers of an endpoint; with masked values if the key that encrypted them is lost."""
    try:
        return headers_of(vault, endpoint)
    except VaultError:
        return masked(endpoint.headers)


def check_endpoint(
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    options: DeliveryOptions | None = None,
    state: str | None = None,
) -> EndpointChange:
    """Return the change, or raise one error that names every invalid field."""
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
    """Return the event types without duplicates, in the standard order."""
    if set(events) - set(ALL_TYPES):
        raise invalid_field("events", f"must be among: {', '.join(ALL_TYPES)}")
    return tuple(type_ for type_ in ALL_TYPES if type_ in events)


def check_state(state: str) -> str:
    if state not in STATES:
        raise invalid_field("state", f"must be one of: {', '.join(STATES)}")
    return state


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check a customer's own headers: not too many, well formed, and none that the gateway sets."""
    if len(headers) > HEADERS_MAX:
        raise invalid_field("headers", f"may have at most {HEADERS_MAX} entries, but has {len(headers)}")
    if len({name.lower() for name in headers}) != len(headers):
        raise invalid_field("headers", "must not contain a header twice")
    for name, value in headers.items():
        _check_header(name, value)
    return dict(headers)


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise invalid_field("headers", f"{name[:100]!r} is not a header name")
    if is_reserved_header(name):
        raise invalid_field("headers", f"{name} is set by the gateway and cannot be changed")
    if len(value) > HEADER_VALUE_MAX:
        raise invalid_field("headers", f"the value of {name} may have at most {HEADER_VALUE_MAX} characters")
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise invalid_field(
            "headers", f"the value of {name} must be printable ASCII without leading or trailing spaces"
        )
