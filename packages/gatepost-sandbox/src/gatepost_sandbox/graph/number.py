"""A number: its fields, registration and callback address."""

import re
from typing import Any

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.graph.call import SUCCESS, Call, Result, read_params
from gatepost_sandbox.graph.callbacks import check_callback
from gatepost_sandbox.graph.select import select
from gatepost_sandbox.ids import stream
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number

PIN = re.compile(r"[0-9]{6}\Z")
WRONG_PINS = 5
REGISTRATIONS, REGISTRATION_WINDOW = 10, 72 * 3600.0
_USABLE = {"CONNECTED": "AVAILABLE", "FLAGGED": "LIMITED", "RATE_LIMITED": "LIMITED"}


def show(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}."""
    return select(full_node(network, number), call, tuple(number.node()))


def full_node(network: Network, number: Number) -> dict[str, Any]:
    """Return everything that can be asked about a number."""
    file, spec = network.accounts.numbers[number.id], number.spec
    node = {
        **number.node(),
        "quality_score": {"score": spec.quality_rating},
        "name_status": "APPROVED",
        "new_name_status": "PENDING_REVIEW" if file.new_name else "NONE",
        "account_mode": "LIVE",
        "is_official_business_account": False,
        "is_on_biz_app": False,
        "is_pin_enabled": file.pin is not None,
        "is_preverified_number": False,
        "search_visibility": "VISIBLE",
        "certificate": f"certificate-{number.id}",
        "country_dial_code": spec.phone[:1] if spec.phone.startswith("1") else spec.phone[:2],
        "last_onboarded_time": "2024-01-01T00:00:00+0000",
        "health_status": health(network, number),
        "webhook_configuration": webhook_configuration(network, number),
        "conversational_automation": {**file.automation, "id": number.id},
    }
    node.setdefault("whatsapp_business_manager_messaging_limit", "TIER_250")
    node["code_verification_status"] = "VERIFIED" if file.verified else "NOT_VERIFIED"
    node["status"] = spec.status if file.registered else "DISCONNECTED"
    return node


def health(network: Network, number: Number) -> dict[str, Any]:
    """Return whether the number, its account, its business and its app can send."""
    file, spec = network.accounts.numbers[number.id], number.spec
    can = _USABLE.get(spec.status, "BLOCKED") if file.registered else "BLOCKED"
    above = (("WABA", spec.waba_id), ("BUSINESS", spec.business_id), ("APP", spec.app_id))
    entities = [{"entity_type": kind, "id": name, "can_send_message": "AVAILABLE"} for kind, name in above]
    own = {"entity_type": "PHONE_NUMBER", "id": number.id, "can_send_message": can}
    return {"can_send_message": can, "entities": [own, *entities]}


def webhook_configuration(network: Network, number: Number) -> dict[str, str]:
    """Return every callback address that is set, the most specific first."""
    spec, accounts = number.spec, network.accounts
    app = accounts.apps.get(spec.app_id)
    found = {
        "phone_number": accounts.numbers[number.id].override,
        "whatsapp_business_account": accounts.wabas[spec.waba_id].override,
        "application": spec.callback_url or (app.callback_url if app is not None else None),
    }
    return {name: url for name, url in found.items() if url}


async def change(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}: a new PIN, another callback address, or another display name."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    file = network.accounts.numbers[number.id]
    if "pin" in params:
        if not isinstance(params["pin"], str) or not PIN.match(params["pin"]):
            return parameter("Param pin must be 6 digits.")
        file.pin = params["pin"]
    elif isinstance(params.get("webhook_configuration"), dict):
        wanted = params["webhook_configuration"]
        url = wanted.get("override_callback_uri") or None
        refusal = await check_callback(network, url, wanted.get("verify_token"))
        if refusal is not None:
            return refusal
        file.override = url
    elif isinstance(params.get("new_display_name"), str) and params["new_display_name"].strip():
        file.new_name = params["new_display_name"]
    else:
        return parameter("One of the parameters pin, webhook_configuration and new_display_name is required.")
    return SUCCESS


def register(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/register."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    file, pin = network.accounts.numbers[number.id], params.get("pin")
    if params.get("messaging_product") != "whatsapp":
        return parameter("The parameter messaging_product is required.")
    if not isinstance(pin, str) or not PIN.match(pin):
        return parameter("Param pin must be 6 digits.")
    if not file.verified:
        return Refusal(133006, details="The number must be verified before it is registered.")
    refusal = _count_registration(network, number)
    if refusal is not None:
        return refusal
    if file.wrong_pins >= WRONG_PINS:
        return Refusal(133008, details="Too many wrong PINs were tried.")
    if file.pin not in (None, pin):
        file.wrong_pins += 1
        return Refusal(133005, details="The PIN is wrong.")
    file.pin, file.wrong_pins, file.registered = pin, 0, True
    return SUCCESS


def deregister(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/deregister."""
    refusal = _count_registration(network, number)
    if refusal is None:
        network.accounts.numbers[number.id].registered = False
    return refusal or SUCCESS


def _count_registration(network: Network, number: Number) -> Refusal | None:
    file, now = network.accounts.numbers[number.id], network.clock.now()
    file.registrations = [at for at in file.registrations if now - at < REGISTRATION_WINDOW]
    if len(file.registrations) >= REGISTRATIONS:
        return Refusal(133016, details="The number was registered and deregistered too often within 72 hours.")
    file.registrations.append(now)
    return None


def request_code(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/request_code; the control API shows the code."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    if params.get("code_method") not in ("SMS", "VOICE"):
        return parameter("Param code_method must be one of {SMS, VOICE}.")
    if not params.get("language"):
        return parameter("The parameter language is required.")
    file = network.accounts.numbers[number.id]
    file.code = f"{stream(network.settings.seed, 'code', number.id).randrange(10**6):06}"
    return SUCCESS


def verify_code(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/verify_code."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    file = network.accounts.numbers[number.id]
    if file.code is None:
        return Refusal(136024, details="No code was requested.")
    if str(params.get("code")) != file.code:
        return Refusal(136024, details="The code is wrong.")
    file.code, file.verified = None, True
    return SUCCESS
