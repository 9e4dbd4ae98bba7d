"""The object of a request, and whether its token gives access.

token of a number ─► the number, its account, the account's templates and files, its app, its business
app_id|app_secret ─► the same of all numbers of the app
"""

import hashlib
import hmac
from typing import Any, Literal

import msgspec

from gatepost_sandbox.errors import Refusal, bad_proof, bad_token, missing_permission, unknown_object
from gatepost_sandbox.graph.call import Call
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.settings import MANAGEMENT

Kind = Literal["number", "waba", "template", "media", "app", "upload", "business"]


class Target(msgspec.Struct, frozen=True):
    """The object of a request."""

    kind: Kind
    thing: Any  # a Number, a Template, a Stored file, or an id
    waba_id: str | None = None


def holders(network: Network, token: str | None) -> list[Number] | Refusal:
    """Return the numbers that a token gives access to."""
    if token is None:
        return bad_token("An access token is required to request this resource.")
    held = [
        number
        for number in network.numbers.values()
        if token in (number.spec.token, f"{number.spec.app_id}|{number.spec.app_secret}")
    ]
    return held or bad_token("Cannot parse access token")


def find_target(network: Network, call: Call) -> Target | Refusal:
    """Return the object of a request, if the token may read it; unknown and forbidden objects get the same refusal."""
    held = holders(network, call.token)
    if isinstance(held, Refusal):
        return held
    if not _proof_fits(held, call):
        return bad_proof()
    wabas = list(dict.fromkeys(number.spec.waba_id for number in held))
    wanted = call.object_id
    target = (
        _find_number(held, wanted)
        or (Target("waba", wanted, wanted) if wanted in wabas else None)
        or _find_in_accounts(network, wanted, wabas)
        or _find_above(held, wanted)
    )
    if (
        target is not None
        and target.kind in ("waba", "template")
        and not any(MANAGEMENT in one.spec.scopes for one in held)
    ):
        return missing_permission(MANAGEMENT)
    return target or unknown_object(call.method, wanted)


def _proof_fits(held: list[Number], call: Call) -> bool:
    """Return whether the request has no `appsecret_proof`, or the one of an app of the token."""
    proof = call.query.get("appsecret_proof")
    if proof is None:
        return True
    token = str(call.token).encode()
    return any(hmac.digest(one.spec.app_secret.encode(), token, hashlib.sha256).hex() == proof for one in held)


def _find_number(held: list[Number], wanted: str) -> Target | None:
    number = next((number for number in held if number.id == wanted), None)
    return None if number is None else Target("number", number, number.spec.waba_id)


def _find_in_accounts(network: Network, wanted: str, wabas: list[str]) -> Target | None:
    for waba_id in wabas:
        network.templates.open(waba_id)
    template = network.templates.get(wanted)
    if template is not None and template.waba_id in wabas:
        return Target("template", template, template.waba_id)
    stored = network.media.find(wanted, network.clock.now())
    owner = network.numbers.get(stored.phone_number_id) if stored is not None else None
    return Target("media", stored) if owner is not None and owner.spec.waba_id in wabas else None


def _find_above(held: list[Number], wanted: str) -> Target | None:
    if wanted.startswith("upload:"):
        return Target("upload", wanted)
    if any(number.spec.app_id == wanted for number in held):
        return Target("app", wanted)
    return Target("business", wanted) if any(number.spec.business_id == wanted for number in held) else None
