"""Tests the credentials of an official number before they are stored.

number ─► token rejected: nothing else can be known
   └────► permissions · app secret · business account · subscription, at the same time
"""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, TypeVar

from gatepost.model.number_status import connection_of
from gatepost.networks.base import CallFailed, CheckName, CredentialCheck, CredentialReport, NetworkError
from gatepost.networks.cloud.graph import Graph
from gatepost.networks.cloud.json_values import as_dict, as_id, as_list, as_str, digits
from gatepost.networks.cloud.secrets import ChannelSecrets

Found = TypeVar("Found")
SECONDS = 15.0  # for all calls together
_NEEDED = ("whatsapp_business_messaging", "whatsapp_business_management")
_FIELDS = "id,display_phone_number,verified_name,status"
_UNKNOWN = "This could not be tested: the network did not say."
_UNUSABLE = ("banned", "disconnected")
_BAD_PROOF = "appsecret_proof"  # in the network's text, which has no code of its own
_NEW_TOKEN = (
    "Create a permanent token: in the business settings, add a system user, give it the app and the WhatsApp account, "
    f"and generate a token with {_NEEDED[0]} and {_NEEDED[1]}."
)


async def check_credentials(
    graph: Graph, phone_number_id: str, waba_id: str | None, secrets: ChannelSecrets
) -> CredentialReport:
    """Test everything that the network tells. A network that cannot be reached raises CallFailed."""
    try:
        async with asyncio.timeout(SECONDS):
            return await _test(graph, phone_number_id, waba_id, secrets)
    except TimeoutError:
        raise CallFailed(NetworkError(0, "The network did not answer in time"), retry=True) from None


async def _test(graph: Graph, phone_number_id: str, waba_id: str | None, secrets: ChannelSecrets) -> CredentialReport:
    try:
        found: dict[str, Any] | None = await graph.get(phone_number_id, query={"fields": _FIELDS})
    except CallFailed as failed:
        if failed.retry:
            raise
        if failed.error.token_rejected:
            return CredentialReport([_rejected(failed), *_untested(waba_id)])
        found = None
    inspected, proof, account, apps = await asyncio.gather(
        # The token is in the query, as the network wants it: an error of this call is dropped, with the URL in it.
        _try(graph.get("debug_token", query={"input_token": secrets.token})),
        _try(graph.get(phone_number_id, query={"fields": "id", "appsecret_proof": _proof(secrets)})),
        _try(_numbers(graph, waba_id)),
        _try(_apps(graph, waba_id)),
    )
    token = as_dict(as_dict(inspected).get("data")) if isinstance(inspected, dict) else {}
    checks = [_token(token), _permissions(token), _number(found, phone_number_id), _app_secret(found, proof)]
    checks += [_account(waba_id, phone_number_id, account), *_subscription(apps, as_id(token.get("app_id")))]
    if found is None:
        return CredentialReport(checks)
    phone = digits(as_str(found.get("display_phone_number"), 64))
    return CredentialReport(checks, phone or None, as_str(found.get("verified_name"), 512))


async def _try(call: Awaitable[Found]) -> Found | CallFailed:
    try:
        return await call
    except CallFailed as failed:
        return failed


async def _numbers(graph: Graph, waba_id: str | None) -> set[str] | None:
    """Return the ids of the account's numbers; None if there is no account, or it has too many to list."""
    if waba_id is None:
        return None
    page = await graph.get(waba_id, "phone_numbers", query={"fields": "id", "limit": "100"})
    ids = {as_id(as_dict(one).get("id")) or "" for one in as_list(page.get("data"))}
    return None if as_dict(page.get("paging")).get("next") else ids


async def _apps(graph: Graph, waba_id: str | None) -> set[str] | None:
    """Return the ids of the apps that get the account's callbacks; None if there is no account."""
    if waba_id is None:
        return None
    page = await graph.get(waba_id, "subscribed_apps")
    apps = [as_dict(as_dict(one).get("whatsapp_business_api_data")) for one in as_list(page.get("data"))]
    return {as_id(app.get("id")) or "" for app in apps}


def _proof(secrets: ChannelSecrets) -> str:
    """Return the proof of the app secret that the network verifies, without sending the secret."""
    return hmac.digest(secrets.app_secret.encode(), secrets.token.encode(), hashlib.sha256).hex()


def _rejected(failed: CallFailed) -> CredentialCheck:
    message = f"The network rejects the access token: {failed.error.title}"
    return CredentialCheck("token", "token", ok=False, message=message, advice=_NEW_TOKEN)


def _untested(waba_id: str | None) -> list[CredentialCheck]:
    names: list[tuple[CheckName, str]] = [
        ("permissions", "token"),
        ("number", "phone_number_id"),
        ("app_secret", "app_secret"),
    ]
    if waba_id:
        names.append(("business_account", "waba_id"))
    message = "Not tested: this needs a valid access token."
    return [CredentialCheck(name, field, ok=None, message=message) for name, field in names]


def _token(token: dict[str, Any]) -> CredentialCheck:
    expires = token.get("expires_at")
    if isinstance(expires, int) and 0 < expires < 253_402_300_800:  # the end of the year 9999
        date = datetime.fromtimestamp(expires, UTC).strftime("%d %B %Y, %H:%M UTC")
        message = f"The access token is valid, but expires on {date}."
        return CredentialCheck("token", "token", ok=True, message=message, advice=_NEW_TOKEN)
    return CredentialCheck("token", "token", ok=True, message="The access token is valid.")


def _permissions(token: dict[str, Any]) -> CredentialCheck:
    if "scopes" not in token:
        return CredentialCheck("permissions", "token", ok=None, message=_UNKNOWN)
    missing = [scope for scope in _NEEDED if scope not in as_list(token["scopes"])]
    if missing:
        message = f"The access token lacks {' and '.join(missing)}."
        return CredentialCheck("permissions", "token", ok=False, message=message, advice=_NEW_TOKEN)
    message = f"The access token has {' and '.join(_NEEDED)}."
    return CredentialCheck("permissions", "token", ok=True, message=message)


def _number(found: dict[str, Any] | None, phone_number_id: str) -> CredentialCheck:
    if found is None:
        message = f"The network has no number with the id {phone_number_id}, or the token has no access to it."
        advice = (
            "Copy the phone number id (not the phone number) from the API setup page of the app, and give the system "
            "user access to the WhatsApp account."
        )
        return CredentialCheck("number", "phone_number_id", ok=False, message=message, advice=advice)
    name = " – ".join(filter(None, (as_str(found.get(key), 512) for key in ("display_phone_number", "verified_name"))))
    connection, reason = connection_of(as_str(found.get("status"), 64)) or ("", "")
    if connection in _UNUSABLE:
        advice = "Register the number at the network. It can be added here now, and works as soon as it is registered."
        message = f"The number was found: {name}. {reason}"
        return CredentialCheck("number", "phone_number_id", ok=False, message=message, advice=advice, required=False)
    return CredentialCheck("number", "phone_number_id", ok=True, message=f"The number was found: {name}.")


def _app_secret(found: dict[str, Any] | None, proof: dict[str, Any] | CallFailed) -> CredentialCheck:
    if isinstance(proof, dict):
        return CredentialCheck("app_secret", "app_secret", ok=True, message="The app secret is the one of the app.")
    if found is not None and not proof.retry and _BAD_PROOF in proof.error.title:
        message = "This is not the secret of the app that the access token belongs to."
        advice = "Copy the app secret from the basic settings of the app for which the token was generated."
        return CredentialCheck("app_secret", "app_secret", ok=False, message=message, advice=advice)
    return CredentialCheck("app_secret", "app_secret", ok=None, message=_UNKNOWN)


def _account(waba_id: str | None, phone_number_id: str, found: set[str] | CallFailed | None) -> CredentialCheck:
    name: CheckName = "business_account"
    field = "waba_id"
    if waba_id is None:
        message = "No business account id was given. Templates need it."
        return CredentialCheck(name, field, ok=None, message=message, required=False)
    if isinstance(found, CallFailed) and found.retry:
        return CredentialCheck(name, field, ok=None, message=_UNKNOWN)
    if isinstance(found, CallFailed):
        message = f"The access token cannot see the business account {waba_id}."
        advice = "Copy the WhatsApp Business account id from the API setup page, and give the system user access to it."
        return CredentialCheck(name, field, ok=False, message=message, advice=advice)
    if found is not None and phone_number_id not in found:
        message = f"The number does not belong to the business account {waba_id}."
        advice = "Copy both ids from the same API setup page."
        return CredentialCheck(name, field, ok=False, message=message, advice=advice)
    return CredentialCheck(name, field, ok=True, message="The business account is visible, and the number is in it.")


def _subscription(apps: set[str] | CallFailed | None, app_id: str | None) -> list[CredentialCheck]:
    """Return whether the network calls the app back; nothing where it cannot be known."""
    if apps is None or isinstance(apps, CallFailed) or app_id is None:
        return []
    if app_id in apps:
        message = "The app gets the callbacks of the business account."
        return [CredentialCheck("subscription", "waba_id", ok=True, message=message, required=False)]
    message = "The app is not subscribed to the business account: incoming messages and statuses would not arrive."
    advice = "Subscribe the app: POST /{business account id}/subscribed_apps with this token, e.g. in the API explorer."
    return [CredentialCheck("subscription", "waba_id", ok=False, message=message, advice=advice, required=False)]
