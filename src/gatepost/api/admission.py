"""Admits requests: by an API key or by a session, which give the same principal. Shared with the hot routes."""

from functools import partial
from urllib.parse import parse_qs

import msgspec

from gatepost.access.access_recheck import AccessRecheck
from gatepost.access.origin import check_origin, origin_of
from gatepost.access.rate_limit import Headers
from gatepost.access.session_authentication import SessionRequest
from gatepost.admin.sign_in import Visit
from gatepost.api.asgi import Scope
from gatepost.api.context import ApiContext
from gatepost.model.account import Caller, Principal
from gatepost.model.errors import BadRequest, Forbidden
from gatepost.model.session import AccessRule, SignedInUser, session_ended


class Admission(msgspec.Struct, frozen=True):
    """Who sends a request, the rate limit headers of its answer, and how its access is checked again."""

    principal: Principal
    caller: Caller | None  # on a channel
    user: SignedInUser | None  # of a session
    left: Headers
    recheck: AccessRecheck


async def admit_request(gateway: ApiContext, scope: Scope, headers: dict[bytes, str], rule: AccessRule) -> Admission:
    """Return who sends a request, or raise why it is rejected."""
    authorization, token = headers.get(b"authorization"), gateway.cookie.token_in(headers.get(b"cookie"))
    if token is not None:
        if authorization is not None and authorization.lower().startswith("bearer"):
            raise BadRequest("Send an API key or the cookie of a session, not both.", "two_credentials")
        return await _admit_session(gateway, _session_request(gateway, scope, headers, token, rule), rule)
    if rule.scope is None:
        if authorization:
            raise Forbidden("This route takes no API key. Sign in with POST /api/v1/session.", "session_required")
        raise session_ended()
    gate, address = gateway.gate, client_address(gateway, scope, headers)
    caller, left = await gate.admit(authorization, rule.scope, address)
    return Admission(caller.principal, caller, None, left, partial(gate.check, authorization, rule.scope))


async def _admit_session(gateway: ApiContext, request: SessionRequest, rule: AccessRule) -> Admission:
    access, left = await gateway.sessions.admit(request, rule)
    recheck = partial(gateway.sessions.check, request, rule)
    return Admission(access.user.principal, access.caller, access.user, left, recheck)


def _session_request(
    gateway: ApiContext, scope: Scope, headers: dict[bytes, str], token: str, rule: AccessRule
) -> SessionRequest:
    channel = headers.get(b"gatepost-channel")
    if channel is None and rule.channel_in_query and scope["method"] in ("GET", "HEAD"):
        channel = parse_qs(scope["query_string"].decode("latin-1")).get("channel", [None])[0]
    return SessionRequest(
        token=token,
        method=scope["method"],
        channel=channel,
        csrf_token=headers.get(b"gatepost-csrf"),
        origin=headers.get(b"origin", headers.get(b"referer")),
        own_origin=own_origin(gateway, scope, headers),
        address=client_address(gateway, scope, headers),
    )


def read_headers(scope: Scope) -> dict[bytes, str]:
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


def client_address(gateway: ApiContext, scope: Scope, headers: dict[bytes, str]) -> str | None:
    """Return the address of the client, as trusted proxies report it."""
    client = scope.get("client")
    return gateway.proxies.client_of(client[0] if client else None, headers.get(b"x-forwarded-for"))


def own_origin(gateway: ApiContext, scope: Scope, headers: dict[bytes, str]) -> str:
    """Return the origin of the gateway: of its public address, or the one that the request was sent to."""
    return gateway.origin or origin_of(f"{scope['scheme']}://{headers.get(b'host', '')}")


def read_visit(gateway: ApiContext, scope: Scope) -> Visit:
    """Return from where a person signs in. A page of another site may not sign people in."""
    headers = read_headers(scope)
    if b"origin" in headers:
        check_origin(headers[b"origin"], own_origin(gateway, scope, headers))
    return Visit(
        client_address(gateway, scope, headers) or "",
        headers.get(b"user-agent", ""),
        gateway.cookie.token_in(headers.get(b"cookie")),
    )
