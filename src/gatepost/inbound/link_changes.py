"""What a report about a link changes in its row, and the text that users see."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model import times
from gatepost.networks.base import ConnectionUpdate
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.reasons import reason_of
from gatepost.store.links import LinkRow

NO_CODES: dict[str, Any] = {"qr": None, "qr_until": None, "pairing_code": None}
UNLINKED: dict[str, Any] = {"device": None, "linked_at": None, "locked_until": None}
_SCANNED = "The phone is linked. The connection is being opened."
_AFTER_BAN, _SPREAD = 30, 60  # seconds after the end of a ban, and more by which channels differ


def text_of(update: ConnectionUpdate, reason: str | None) -> str | None:
    """Return the text about a state: the reason, and what the network said."""
    end = None
    if is_temporary_ban(update):
        end = f"The ban ends at {times.format_optional_time(update.until)}. A linked phone then connects automatically."
    text = reason_of(reason).text if reason else None
    if reason == "linked" and update.state == "connecting":  # right after the scan
        text = _SCANNED
    texts = text, update.details, end
    return " ".join(text for text in texts if text) or None


def changes_of_end(link: Link, update: ConnectionUpdate, now: datetime) -> dict[str, Any]:
    """Return the changes of the row that a state brings with it, except for those of the requests."""
    values = {} if update.state == "connecting" else dict(NO_CODES)
    if update.reason == "linked":  # the network asks for a new connection now, which this device has to open
        values |= {"device": link.device, "lid": update.lid, "linked_at": now}
    if update.state == "logged_out":
        values |= UNLINKED
    if update.state == "banned":
        values |= {"locked_until": update.until}
    return values


def is_temporary_ban(update: ConnectionUpdate) -> bool:
    """Return whether the number is banned until a time that the network named."""
    return update.state == "banned" and update.until is not None


def seconds_of_lock(row: LinkRow, channel_id: UUID, now: datetime) -> float:
    """Return the seconds until a banned number connects again; channels that were banned together differ."""
    if row.locked_until is None:
        return 0.0
    return (row.locked_until - now).total_seconds() + _AFTER_BAN + channel_id.int % _SPREAD
