"""The codes a session shows: six to scan, one after another, or one to type.

0 s          60 s    80 s   100 s   120 s   140 s   160 s
├─ code 1 ────┼─ 2 ───┼─ 3 ──┼─ 4 ───┼─ 5 ───┼─ 6 ───┤ scan_expired
"""

from base64 import b64encode
from random import Random

CODES = 6
FIRST_SECONDS, NEXT_SECONDS = 60, 20
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def code_seconds(number: int) -> int:
    """Return the lifetime of the code with this number (from 0)."""
    return NEXT_SECONDS if number else FIRST_SECONDS


def scan_code(random: Random) -> str:
    """Return the content of a QR code: a reference and three keys, which are useless on a real network."""
    keys = ",".join(b64encode(random.randbytes(32)).decode() for _ in range(3))
    return f"2@{b64encode(random.randbytes(48)).decode()},{keys}"


def pairing_code(random: Random) -> str:
    """Return eight characters to type on the phone."""
    letters = "".join(random.choices(_CROCKFORD, k=8))
    return f"{letters[:4]}-{letters[4:]}"
