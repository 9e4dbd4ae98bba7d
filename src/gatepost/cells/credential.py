"""The credential of a request, by which its cell is found. The cell itself checks it."""

from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec

from gatepost.admin.users import EMAIL_MAX
from gatepost.api.callbacks import PREFIX as CALLBACKS
from gatepost.api.session_cookie import SessionCookie
from gatepost.model import ids
from gatepost.model.account import is_key, key_hash
from gatepost.model.session import is_token, token_hash

Kind = Literal["key", "session", "link", "channel", "email"]
SIGN_IN = "/api/v1/session"
LINKS = "/api/v1/one-time-links/"
_API = "/api/"
_MCP = "/mcp"
_BEARER = b"bearer "


class Credential(NamedTuple):
    """What a request shows, as it is stored: a hash, the id of a channel, or an e-mail address."""

    kind: Kind
    value: bytes | UUID | str


class _SignIn(msgspec.Struct):
    email: str


_sign_in = msgspec.json.Decoder(_SignIn)


def read_credential(scope: Any, cookie: SessionCookie) -> Credential | None:
    """Return the credential of a request; None if it has none of the right form, or is for no account."""
    path: str = scope["path"]
    if path.startswith(CALLBACKS):
        channel_id = ids.parse_id("ch", path.rpartition("/")[2])
        return Credential("channel", channel_id) if channel_id else None
    if not path.startswith(_API) and path != _MCP:
        return None
    if path.startswith(LINKS):
        return _of_token("link", path.removeprefix(LINKS))
    key = None
    for name, value in scope["headers"]:
        if name == b"cookie":
            token = cookie.token_in(value.decode("latin-1"))
            if token is not None:
                return _of_token("session", token)
        elif name == b"authorization" and value[: len(_BEARER)].lower() == _BEARER:
            key = value[len(_BEARER) :].decode("latin-1").strip()
    return Credential("key", key_hash(key)) if key is not None and is_key(key) else None


def read_email(body: bytes) -> Credential | None:
    """Return the e-mail address of a sign-in; None if the body is not one."""
    try:
        email = _sign_in.decode(body).email
    except (msgspec.DecodeError, RecursionError):
        return None
    return Credential("email", email) if len(email) <= EMAIL_MAX and "\0" not in email else None


def _of_token(kind: Kind, token: str) -> Credential | None:
    return Credential(kind, token_hash(token)) if is_token(token) else None
