"""Time-based one-time passwords (RFC 6238): SHA-1, six digits, steps of 30 seconds."""

import base64
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote, urlencode

STEP = 30
DIGITS = 6
WINDOW = 1  # steps before and after now that are accepted, for clocks that differ
SECRET_BYTES = 20
RECOVERY_CODES = 10
_RECOVERY_BYTES = 10


def totp_code(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """Return the code of a time step."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def matching_step(secret: bytes, code: str, now: datetime) -> int | None:
    """Return the step of a code that is valid now; None if it is not."""
    current = int(now.timestamp()) // STEP
    for step in range(current - WINDOW, current + WINDOW + 1):
        if hmac.compare_digest(totp_code(secret, step).encode(), code.encode()):
            return step
    return None


def show_secret(secret: bytes) -> str:
    """Return a secret as authenticator apps take it."""
    return base64.b32encode(secret).decode()


def totp_uri(secret: bytes, email: str) -> str:
    """Return the address that authenticator apps read from a QR code."""
    label = quote(email, safe="")
    return f"otpauth://totp/Gatepost:{label}?{urlencode({'secret': show_secret(secret), 'issuer': 'Gatepost'})}"


def new_recovery_code() -> str:
    """Return a recovery code of 80 random bits, in groups of four characters."""
    text = base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def plain_code(text: str) -> str:
    """Return a typed code without spaces, hyphens and capitals."""
    return "".join(character for character in text.lower() if character not in " -")
