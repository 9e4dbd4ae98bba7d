"""A business account: its numbers, its callbacks, its app and its business."""

from typing import Any

import msgspec

from gatepost_sandbox.accounts import Subscription
from gatepost_sandbox.errors import Refusal, parameter, unknown_object
from gatepost_sandbox.graph.access import holders
from gatepost_sandbox.graph.call import SUCCESS, Call, Result, read_params
from gatepost_sandbox.graph.callbacks import check_callback
from gatepost_sandbox.graph.number import full_node
from gatepost_sandbox.graph.select import page, select
from gatepost_sandbox.ids import node_id, stream
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number

ALL_FIELDS = "messages"
_USUAL = ("id", "name", "timezone_id", "message_template_namespace")


def numbers_of(network: Network, waba_id: str) -> list[Number]:
    """Return the numbers of an account."""
    return [number for number in network.numbers.values() if number.spec.waba_id == waba_id]


def node(network: Network, waba_id: str) -> dict[str, Any]:
    """Return everything that can be asked about an account."""
    first, file = numbers_of(network, waba_id)[0].spec, network.accounts.wabas[waba_id]
    health = {"entity_type": "WABA", "id": waba_id, "can_send_message": "AVAILABLE"}
    return {
        "id": waba_id,
        "name": first.name,
        "timezone_id": "1",
        "message_template_namespace": f"sandbox_{waba_id}",
        "status": "ACTIVE",
        "currency": "USD",
        "country": "US",
        "business_verification_status": "verified",
        "account_review_status": "APPROVED",
        "ownership_type": "SELF",
        "is_enabled_for_insights": True,
        "marketing_messages_lite_api_status": "ONBOARDED",
        "marketing_messages_onboarding_status": "ONBOARDED",
        "owner_business_info": {"id": first.business_id, "name": first.name},
        "health_status": {"can_send_message": "AVAILABLE", "entities": [health]},
        "subscribed_apps": {"data": subscribed(network, waba_id)},
        "disable_marketing_messages_on_cloud_api": False,
        **file.settings,
    }


def show(network: Network, waba_id: str, call: Call) -> Result:
    """GET /{account}."""
    return select(node(network, waba_id), call, _USUAL)


def change(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    strange = set(params) - {
        "disable_marketing_messages_on_cloud_api",
        "degrees_of_freedom_spec",
        "is_enabled_for_insights",
    }
    if strange or not params:
        return parameter(f"Param {min(strange, default='')[:64]} cannot be set on an account.")
    network.accounts.wabas[waba_id].settings |= params
    return SUCCESS


def list_numbers(network: Network, waba_id: str, call: Call) -> Result:
    """GET /{account}/phone_numbers."""
    found = numbers_of(network, waba_id)
    rows = [(at, select(full_node(network, number), call, tuple(number.node()))) for at, number in enumerate(found)]
    return page(call, rows)


def add_number(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/phone_numbers: a further number, which has to be verified and registered."""
    params, first = read_params(call), numbers_of(network, waba_id)[0].spec
    if isinstance(params, Refusal):
        return params
    code, phone, name = (str(params.get(key) or "") for key in ("country_code", "phone_number", "verified_name"))
    digits = f"{code or params.get('cc') or ''}{phone}".replace("+", "")
    if not (digits.isascii() and digits.isdigit()) or not 7 <= len(digits) <= 15 or not name:
        return parameter("The parameters country_code, phone_number and verified_name are required.")
    if any(number.spec.phone == digits for number in network.numbers.values()):
        return parameter("The phone number is registered already.")
    made = node_id(stream(network.settings.seed, "number", digits))
    network.register(msgspec.structs.replace(first, phone_number_id=made, phone=digits, name=name))
    network.accounts.numbers[made].registered = network.accounts.numbers[made].verified = False
    return {"id": made}


def subscribed(network: Network, waba_id: str) -> list[dict[str, Any]]:
    """Return the app that gets the account's callbacks."""
    file, app_id = network.accounts.wabas[waba_id], numbers_of(network, waba_id)[0].spec.app_id
    app: dict[str, Any] = {
        "whatsapp_business_api_data": {"id": app_id, "name": "Sandbox App", "link": f"https://example.com/{app_id}"}
    }
    if file.override:
        app["override_callback_uri"] = file.override
    return [app] if file.subscribed else []


def list_apps(network: Network, waba_id: str, call: Call) -> Result:
    """GET /{account}/subscribed_apps."""
    return {"data": subscribed(network, waba_id)}


async def subscribe(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/subscribed_apps: with an override of the app's callback address, or without."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    url = params.get("override_callback_uri") or None
    refusal = await check_callback(network, url, params.get("verify_token"))
    if refusal is not None:
        return refusal
    file = network.accounts.wabas[waba_id]
    file.subscribed, file.override = True, url
    return SUCCESS


def unsubscribe(network: Network, waba_id: str, call: Call) -> Result:
    """DELETE /{account}/subscribed_apps: no more callbacks."""
    file = network.accounts.wabas[waba_id]
    file.subscribed, file.override = False, None
    return SUCCESS


def list_accounts(network: Network, business_id: str, call: Call) -> Result:
    """GET /{business}/owned_whatsapp_business_accounts."""
    specs = (number.spec for number in network.numbers.values() if number.spec.business_id == business_id)
    found = list(dict.fromkeys(spec.waba_id for spec in specs))
    return page(call, [(at, select(node(network, waba_id), call, _USUAL)) for at, waba_id in enumerate(found)])


def no_accounts(network: Network, business_id: str, call: Call) -> Result:
    """GET /{business}/client_whatsapp_business_accounts: always empty."""
    return {"data": []}


def app_token(network: Network, call: Call) -> Result:
    """GET /oauth/access_token."""
    app_id, secret = call.query.get("client_id", ""), call.query.get("client_secret", "")
    if isinstance(holders(network, f"{app_id}|{secret}"), Refusal):
        return Refusal(101, status=400, message="Error validating application. Invalid application ID or secret.")
    if call.query.get("grant_type") != "client_credentials":
        return parameter("Param grant_type must be one of {client_credentials}.")
    return {"access_token": f"{app_id}|{secret}", "token_type": "bearer"}


def debug_token(network: Network, call: Call) -> Result:
    """GET /debug_token: whether a token is valid, of which app it is, and its permissions."""
    asking = holders(network, call.token)
    if isinstance(asking, Refusal):
        return asking
    held = holders(network, call.query.get("input_token") or None)
    if isinstance(held, Refusal):
        error = {"code": held.code, "message": held.message}
        return {"data": {"is_valid": False, "scopes": [], "error": error}}
    spec = held[0].spec
    scopes = list(dict.fromkeys(scope for one in held for scope in one.spec.scopes))
    valid = {"app_id": spec.app_id, "type": "SYSTEM_USER", "application": "Sandbox App", "is_valid": True}
    return {"data": {**valid, "expires_at": 0, "data_access_expires_at": 0, "scopes": scopes}}


async def set_subscription(network: Network, app_id: str, call: Call) -> Result:
    """POST /{app}/subscriptions: the address of an app; only the app's own token may set it."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    if not str(call.token).startswith(f"{app_id}|"):
        return Refusal(15, status=400, message="(#15) This method must be called with an app access token.")
    if params.get("object") != "whatsapp_business_account":
        return parameter("Param object must be one of {whatsapp_business_account}.")
    url, fields = params.get("callback_url") or "", str(params.get("fields") or ALL_FIELDS)
    refusal = await check_callback(network, url, params.get("verify_token"))
    if refusal is None:
        network.accounts.apps[app_id] = Subscription(url, tuple(field.strip() for field in fields.split(",")))
    return refusal or SUCCESS


def list_subscriptions(network: Network, app_id: str, call: Call) -> Result:
    """GET /{app}/subscriptions."""
    found = network.accounts.apps.get(app_id)
    if found is None:
        return {"data": []}
    fields = [{"name": name, "version": "v25.0"} for name in found.fields]
    subscription = {
        "object": "whatsapp_business_account",
        "callback_url": found.callback_url,
        "active": True,
        "fields": fields,
    }
    return {"data": [subscription]}


def delete_subscription(network: Network, app_id: str, call: Call) -> Result:
    """DELETE /{app}/subscriptions."""
    gone = network.accounts.apps.pop(app_id, None)
    return unknown_object(call.method, f"{app_id}/subscriptions") if gone is None else SUCCESS
