"""Identifiers that look like the network's own, drawn from a seeded stream per number."""

from base64 import b64encode, urlsafe_b64encode
from random import Random

_OUTBOUND, _INBOUND = b"\x11", b"\x12"


def stream(seed: int, *names: str) -> Random:
    """Return a separate random stream, so that one kind of draw never shifts another."""
    return Random("/".join((str(seed), *names)))


def _wamid(phone: str, direction: bytes, hex_id: str) -> str:
    digits, identity = phone.encode(), hex_id.encode()
    raw = b"".join(
        (b"\x1c\x18", bytes((len(digits),)), digits, b"\x15\x02\x00", direction, b"\x18", bytes((len(identity),)))
    )
    return "wamid." + b64encode(raw + identity + b"\x00").decode()


def outbound_wamid(random: Random, phone: str) -> str:
    """Return the id of a message a business sends to a person."""
    return _wamid(phone, _OUTBOUND, f"{random.getrandbits(72):018X}")


def inbound_wamid(random: Random, phone: str) -> str:
    """Return the id of a message a person sends from a phone."""
    return _wamid(phone, _INBOUND, f"3A{random.getrandbits(72):018X}")


def trace_id(random: Random) -> str:
    """Return the id of one request, as in `fbtrace_id`."""
    return "A" + urlsafe_b64encode(random.getrandbits(128).to_bytes(16, "big")).decode().rstrip("=")


def node_id(random: Random) -> str:
    """Return the id of an object: a file, a template, a number."""
    return str(random.randrange(10**14, 10**16))
