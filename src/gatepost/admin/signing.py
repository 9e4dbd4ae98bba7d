"""The stored signing secrets of an endpoint: encrypted, newest first, older ones until they expire."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.admin.vault import Vault, endpoint_context
from gatepost.model.errors import Conflict, invalid_field
from gatepost.model.signing import SIGNINGS, new_secret, public_key, signing_of

LIVE_MAX = 10
DEFAULT_OVERLAP = timedelta(hours=24)
OVERLAP_MAX = timedelta(days=7)


class SigningSecret(msgspec.Struct, frozen=True):
    """A signing secret, and until when it signs: an old one signs together with the new one for a while."""

    secret: str
    until: datetime | None = None

    @property
    def signing(self) -> str:
        """Its signature scheme."""
        return signing_of(self.secret)

    @property
    def shown(self) -> str:
        """What its owner sees, once: the secret itself, or the public key if it has one."""
        return public_key(self.secret) or self.secret


_decoder = msgspec.json.Decoder(tuple[SigningSecret, ...])


def seal_signing_secrets(vault: Vault, endpoint_id: UUID, kept: Sequence[SigningSecret]) -> bytes:
    """Encrypt secrets for this endpoint."""
    return vault.seal(msgspec.json.encode(kept), endpoint_context(endpoint_id))


def open_signing_secrets(vault: Vault, endpoint_id: UUID, sealed: bytes) -> tuple[SigningSecret, ...]:
    """Decrypt the secrets of an endpoint, newest first."""
    return _decoder.decode(vault.open(sealed, endpoint_context(endpoint_id)))


def live_secrets(kept: Sequence[SigningSecret], now: datetime) -> tuple[SigningSecret, ...]:
    """Return the secrets that sign at this time."""
    return tuple(one for one in kept if one.until is None or now < one.until)


def make_secret(signing: str) -> SigningSecret:
    """Return a new secret of a signature scheme."""
    return SigningSecret(new_secret(check_signing(signing)))


def rotated(
    kept: Sequence[SigningSecret], fresh: SigningSecret, overlap: timedelta, now: datetime
) -> tuple[SigningSecret, ...]:
    """Return the secrets after a rotation: the new one, and the old ones for at most `overlap`."""
    end = now + check_overlap(overlap)
    old = live_secrets([SigningSecret(one.secret, min(one.until or end, end)) for one in kept], now)
    if len(old) >= LIVE_MAX:
        raise Conflict(
            f"An endpoint may have at most {LIVE_MAX} live secrets. Wait until one expires, or rotate with overlap 0, "
            "which ends all of them."
        )
    return (fresh, *old)


def check_signing(signing: str) -> str:
    if signing not in SIGNINGS:
        raise invalid_field("signing", f"must be one of: {', '.join(SIGNINGS)}")
    return signing


def check_overlap(overlap: timedelta) -> timedelta:
    if not timedelta(0) <= overlap <= OVERLAP_MAX:
        raise invalid_field("overlap", f"must be between 0 and {int(OVERLAP_MAX.total_seconds())} seconds (7 days)")
    return overlap
