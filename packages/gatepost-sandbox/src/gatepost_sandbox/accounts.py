"""The settings of numbers, business accounts and apps, and the address of their callbacks.

callback address of a number: its own override ─► its account's override ─► its registration ─► its app
"""

from collections import defaultdict, deque
from typing import Any

import msgspec

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.settings import NumberSpec

HOUR = 3600.0
NOT_REGISTERED = Refusal(133010, details="The account is not registered.")
BLOCKED = Refusal(130403, details="The business has blocked this user.")


class Subscription(msgspec.Struct, frozen=True):
    """The callback address of an app and the fields it subscribed to."""

    callback_url: str
    fields: tuple[str, ...]


class NumberFile:
    """The settings of one number."""

    def __init__(self) -> None:
        self.registered = True
        self.verified = True
        self.pin: str | None = None
        self.wrong_pins = 0
        self.code: str | None = None
        self.registrations: list[float] = []
        self.override: str | None = None
        self.profile: dict[str, Any] = {"vertical": "UNDEFINED"}
        self.settings: dict[str, Any] = {}
        self.commerce: dict[str, Any] = {"is_cart_enabled": True, "is_catalog_visible": False}
        self.automation: dict[str, Any] = {}
        self.new_name: str | None = None
        self.username: str | None = None
        self.public_key: str | None = None
        self.qr_codes: dict[str, dict[str, str]] = {}
        self.blocked: dict[str, None] = {}  # in the order they were blocked


class AccountFile:
    """The settings of one business account."""

    def __init__(self) -> None:
        self.subscribed = True
        self.override: str | None = None
        self.settings: dict[str, Any] = {}
        self.calls: deque[float] = deque()


class Accounts:
    """The settings of all numbers and accounts of one network, created on first use."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, NumberFile] = defaultdict(NumberFile)
        self.wabas: defaultdict[str, AccountFile] = defaultdict(AccountFile)
        self.apps: dict[str, Subscription] = {}

    def address(self, spec: NumberSpec, field: str = "messages") -> str | None:
        """Return the callback address of a number for a field; None when none is set."""
        number, waba = self.numbers.get(spec.phone_number_id), self.wabas.get(spec.waba_id)
        if waba is not None and not waba.subscribed:
            return None
        chosen = (number and number.override) or (waba and waba.override) or spec.callback_url
        if chosen:
            return chosen
        app = self.apps.get(spec.app_id)
        return app.callback_url if app is not None and field in app.fields else None

    def refuse_send(self, phone_number_id: str, person: str) -> Refusal | None:
        """Return why this number may not send to this person, according to its settings."""
        number = self.numbers.get(phone_number_id)
        if number is None:
            return None
        if not number.registered:
            return NOT_REGISTERED
        return BLOCKED if person in number.blocked else None

    def blocks(self, phone_number_id: str, person: str) -> bool:
        """Return whether this number has blocked this person."""
        number = self.numbers.get(phone_number_id)
        return number is not None and person in number.blocked

    def take_call(self, waba_id: str, now: float, per_hour: int | None) -> bool:
        """Count one call to the management API of an account; return False over the limit."""
        calls = self.wabas[waba_id].calls
        while calls and now - calls[0] >= HOUR:
            calls.popleft()
        if per_hour is not None and len(calls) >= per_hour:
            return False
        calls.append(now)
        return True
