"""QR codes, usernames and blocked users of a number."""

import io
import re
from typing import Any

import segno

from gatepost_sandbox.errors import Refusal, parameter, unknown_object
from gatepost_sandbox.graph.call import SUCCESS, Call, Raw, Result, read_params
from gatepost_sandbox.graph.select import page, select
from gatepost_sandbox.ids import stream
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number

PREFILLED_MAX = 140
BLOCKED_MAX = 64_000
_USERNAME = re.compile(r"[a-z0-9._]{3,35}\Z")
_FORMAT = re.compile(r"qr_image_url\.format\((PNG|SVG)\)")


def save_qr(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/message_qrdls: a new code, or with `code` another text for an old one."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    text = params.get("prefilled_message")
    if not isinstance(text, str) or not 1 <= len(text) <= PREFILLED_MAX:
        return parameter(f"Param prefilled_message must be 1 to {PREFILLED_MAX} characters long.")
    codes, code = network.accounts.numbers[number.id].qr_codes, params.get("code")
    if code is None:
        code = draw_code(network, number, len(codes))
    elif not isinstance(code, str) or code not in codes:
        return unknown_object(call.method, f"{number.id}/message_qrdls/{code}")
    codes[code] = {"code": code, "prefilled_message": text, "deep_link_url": f"https://wa.me/message/{code}"}
    return show_qr(codes[code], call, params.get("generate_qr_image"))


def draw_code(network: Network, number: Number, place: int) -> str:
    """Return a code of 14 letters and digits."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    drawn = stream(network.settings.seed, "qr", number.id, str(place), str(network.clock.now()))
    return "".join(drawn.choice(letters) for _ in range(14))


def show_qr(code: dict[str, str], call: Call, image: Any = None) -> dict[str, Any]:
    """Return a code, with the URL of its image if requested."""
    asked = _FORMAT.search(call.query.get("fields", ""))
    kind = str(image or (asked and asked.group(1)) or "").lower()
    picture = {"qr_image_url": f"{call.root}/whatsapp_business/qr/{code['code']}.{kind}"} if kind else {}
    return {**code, **picture}


def list_qr(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/message_qrdls."""
    codes = network.accounts.numbers[number.id].qr_codes.values()
    return page(call, [(place, select(show_qr(code, call), call)) for place, code in enumerate(codes)])


def get_qr(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/message_qrdls/{code}."""
    code = network.accounts.numbers[number.id].qr_codes.get(call.rest)
    return {"data": [] if code is None else [select(show_qr(code, call), call)]}


def delete_qr(network: Network, number: Number, call: Call) -> Result:
    """DELETE /{number}/message_qrdls/{code}."""
    gone = network.accounts.numbers[number.id].qr_codes.pop(call.rest, None)
    return unknown_object(call.method, f"{number.id}/{call.path}") if gone is None else SUCCESS


def draw_qr(network: Network, call: Call) -> Result:
    """Return the image of a code, which is public."""
    name, _, kind = call.rest.rpartition(".")
    codes = (code for file in network.accounts.numbers.values() for code in file.qr_codes.values())
    found = next((code for code in codes if code["code"] == name), None)
    if found is None or kind not in ("png", "svg"):
        return Refusal(100, status=404, message="There is no such image.")
    drawn = io.BytesIO()
    segno.make(found["deep_link_url"], micro=False).save(drawn, kind=kind, scale=8)
    return Raw(drawn.getvalue(), "image/png" if kind == "png" else "image/svg+xml")


def set_username(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/username."""
    params = read_params(call)
    name = params if isinstance(params, Refusal) else params.get("username")
    if isinstance(name, Refusal):
        return name
    if not isinstance(name, str) or not _USERNAME.match(name):
        return Refusal(147001, details="A username has 3 to 35 small letters, digits, dots and underscores.")
    taken = any(file.username == name for key, file in network.accounts.numbers.items() if key != number.id)
    if taken:
        return Refusal(147002, details="The username is taken.")
    network.accounts.numbers[number.id].username = name
    return {"status": "approved"}


def get_username(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/username."""
    name = network.accounts.numbers[number.id].username
    return {"username": name, "status": "approved"} if name else {"username": "", "status": "deleted"}


def suggest_usernames(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/username_suggestions."""
    stem = re.sub(r"[^a-z0-9]", "", number.spec.name.lower())[:30] or "business"
    return {"data": [{"username_suggestions": [stem, f"{stem}.hq", f"{stem}_1"]}]}


def delete_username(network: Network, number: Number, call: Call) -> Result:
    """DELETE /{number}/username."""
    network.accounts.numbers[number.id].username = None
    return SUCCESS


def block(network: Network, number: Number, call: Call) -> Result:
    """POST /{number}/block_users."""
    users = read_users(call)
    if isinstance(users, Refusal):
        return users
    blocked = network.accounts.numbers[number.id].blocked
    if len(blocked) + len(users) > BLOCKED_MAX:
        return Refusal(139103, details=f"A number blocks at most {BLOCKED_MAX} people.")
    blocked.update(dict.fromkeys(person for _, person in users))
    return _told(users, "added_users")


def unblock(network: Network, number: Number, call: Call) -> Result:
    """DELETE /{number}/block_users."""
    users = read_users(call)
    if isinstance(users, Refusal):
        return users
    for _, person in users:
        network.accounts.numbers[number.id].blocked.pop(person, None)
    return _told(users, "removed_users")


def list_blocked(network: Network, number: Number, call: Call) -> Result:
    """GET /{number}/block_users."""
    people = network.accounts.numbers[number.id].blocked
    rows = [
        (place, {"messaging_product": "whatsapp", "wa_id": person, "input": person})
        for place, person in enumerate(people)
    ]
    return page(call, rows)


def read_users(call: Call) -> list[tuple[str, str]] | Refusal:
    """Return the people in a request, as written and in digits."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    listed = params.get("block_users")
    if params.get("messaging_product") != "whatsapp" or not isinstance(listed, list) or not listed:
        return parameter("The parameters messaging_product and block_users are required.")
    users = []
    for entry in listed:
        written = str(entry.get("user") or entry.get("user_id") or "") if isinstance(entry, dict) else ""
        if not written:
            return parameter("Param block_users must be an array of objects with a user.")
        users.append((written, re.sub(r"[+\-() ]", "", written)))
    return users


def _told(users: list[tuple[str, str]], name: str) -> dict[str, Any]:
    listed = [{"input": written, "wa_id": person} for written, person in users]
    return {"messaging_product": "whatsapp", "block_users": {name: listed}}
