"""Settings of a number: profile, settings, commerce, automation, username, public key."""

import json
from typing import Any
from urllib.parse import urlencode

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.graph.call import SUCCESS, Call, Result, read_params
from gatepost_sandbox.graph.select import select
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number

LENGTHS = {"about": (1, 139), "address": (0, 256), "description": (0, 512), "email": (0, 128)}
WEBSITES, WEBSITE_MAX = 2, 256
VERTICALS = {
    "UNDEFINED",
    "OTHER",
    "AUTO",
    "BEAUTY",
    "APPAREL",
    "EDU",
    "ENTERTAIN",
    "EVENT_PLAN",
    "FINANCE",
    "GROCERY",
    "GOVT",
    "HOTEL",
    "HEALTH",
    "NONPROFIT",
    "PROF_SERVICES",
    "RETAIL",
    "TRAVEL",
    "RESTAURANT",
    "NOT_A_BIZ",
    "ALCOHOL",
    "ONLINE_GAMBLING",
    "PHYSICAL_GAMBLING",
    "OTC_DRUGS",
    "MATRIMONY_SERVICE",
}
PROMPTS, PROMPT_MAX = 4, 80
COMMANDS, COMMAND_MAX, HINT_MAX = 30, 32, 256
_SETTINGS = ("calling", "storage_configuration", "user_identity_change")


def get_profile(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/whatsapp_business_profile."""
    profile = {**network.accounts.numbers[number.id].profile, "messaging_product": "whatsapp"}
    handle = profile.pop("profile_picture_handle", None)
    if handle is not None:
        profile["profile_picture_url"] = f"{call.root}/whatsapp_business/pictures/?{urlencode({'h': handle})}"
    shown = select(profile, call)
    return {"data": [{**shown, "messaging_product": "whatsapp"}]}


def set_profile(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/whatsapp_business_profile; an empty value clears a field."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    if params.pop("messaging_product", None) != "whatsapp":
        return parameter("The parameter messaging_product is required.")
    refusal = check_profile(network, params)
    if refusal is not None:
        return refusal
    profile = network.accounts.numbers[number.id].profile
    profile.update(params)
    network.accounts.numbers[number.id].profile = {"vertical": "UNDEFINED"} | {
        name: value for name, value in profile.items() if value
    }
    return SUCCESS


def check_profile(network: Network, params: dict[str, Any]) -> Refusal | None:
    """Check all fields of a profile."""
    for name, value in params.items():
        if name in LENGTHS:
            least, most = LENGTHS[name]
            if not isinstance(value, str) or not least <= len(value) <= most:
                return parameter(f"Param {name} must be {least} to {most} characters long.")
        elif name == "websites":
            good = isinstance(value or [], list) and len(value or []) <= WEBSITES
            if not good or not all(_is_website(site) for site in value or []):
                return parameter(f"Param websites must be at most {WEBSITES} addresses of {WEBSITE_MAX} characters.")
        elif name == "vertical":
            if value and str(value) not in VERTICALS:
                return parameter(f"Param vertical must be one of {{{', '.join(sorted(VERTICALS))}}}.")
        elif name == "profile_picture_handle":
            if value and str(value) not in network.uploads.finished:
                return parameter("Param profile_picture_handle must be the handle of an uploaded file.")
        else:
            return parameter(f'Unexpected key "{name[:64]}".')
    return None


def _is_website(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://")) and len(value) <= WEBSITE_MAX


def get_settings(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/settings."""
    standard = {
        "storage_configuration": {"status": "DEFAULT"},
        "user_identity_change": {"enable_identity_key_check": False},
    }
    return select({**standard, **network.accounts.numbers[number.id].settings}, call)


def set_settings(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/settings."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    for name, value in params.items():
        if name not in _SETTINGS or not isinstance(value, dict):
            return parameter(f"Param {name[:64]} is not one of {{{', '.join(_SETTINGS)}}}, or not an object.")
    network.accounts.numbers[number.id].settings |= params
    return SUCCESS


def get_commerce(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/whatsapp_commerce_settings."""
    settings = {"id": f"9{number.id}", **network.accounts.numbers[number.id].commerce}
    return {"data": [select(settings, call)]}


def set_commerce(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/whatsapp_commerce_settings."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    said: dict[str, bool] = {}
    for name, value in params.items():
        if name not in ("is_cart_enabled", "is_catalog_visible") or str(value).lower() not in ("true", "false"):
            return parameter(f"Param {name[:64]} must be is_cart_enabled or is_catalog_visible, true or false.")
        said[name] = str(value).lower() == "true"
    network.accounts.numbers[number.id].commerce |= said
    return SUCCESS


def set_automation(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/conversational_automation: what a new chat offers."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    prompts, commands = (_listed(params.get(name)) for name in ("prompts", "commands"))
    if prompts is None or len(prompts) > PROMPTS or not all(_is_text(prompt, PROMPT_MAX) for prompt in prompts):
        return parameter(f"Param prompts must be at most {PROMPTS} texts of at most {PROMPT_MAX} characters.")
    if commands is None or len(commands) > COMMANDS or not all(_is_command(command) for command in commands):
        return parameter(
            f"Param commands must be at most {COMMANDS} commands with a command_name of at most {COMMAND_MAX} and a "
            f"command_description of at most {HINT_MAX} characters."
        )
    found = {"prompts": prompts, "commands": commands}
    network.accounts.numbers[number.id].automation = {name: value for name, value in found.items() if value}
    return SUCCESS


def _listed(value: Any) -> list[Any] | None:
    """Return a list, which may come as JSON inside a string."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None
    return [] if value is None else value if isinstance(value, list) else None


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def _is_command(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return _is_text(value.get("command_name"), COMMAND_MAX) and _is_text(value.get("command_description"), HINT_MAX)


def set_key(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/whatsapp_business_encryption."""
    params = read_params(call)
    key = params if isinstance(params, Refusal) else params.get("business_public_key")
    if isinstance(key, Refusal):
        return key
    if not isinstance(key, str) or "BEGIN PUBLIC KEY" not in key:
        return parameter("Param business_public_key must be a public key in PEM.")
    network.accounts.numbers[number.id].public_key = key
    return SUCCESS
