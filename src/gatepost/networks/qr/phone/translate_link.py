"""Translates the library's events about the link itself into frames. Pure."""

from typing import Any

from gatepost.networks.qr.phone.jids import format_jid, person
from gatepost.networks.qr.phone.protos import neo

Frame = dict[str, Any]
FIRST_CODE_SECONDS, NEXT_CODE_SECONDS = 60, 20
RESTART = "515"
_FAILED_PINGS = 2  # a single failure is tolerated

_BANS = {
    neo.TemporaryBan.SEND_TO_TOO_MANY_PEOPLE: "Too many messages to people who do not know the number.",
    neo.TemporaryBan.BLOCKED_BY_USERS: "Too many people blocked the number.",
    neo.TemporaryBan.CREATED_TOO_MANY_GROUPS: "Too many groups with people who do not know the number.",
    neo.TemporaryBan.SENT_TOO_MANY_SAME_MESSAGE: "The same message went to too many people.",
    neo.TemporaryBan.BROADCAST_LIST: "Too many messages to broadcast lists.",
}
_LOGINS = {
    "timeout": ("scan_expired", None),
    "err-client-outdated": ("outdated_client", None),
    "err-scanned-without-multidevice": ("pair_failed", "The app on the phone is too old to link devices."),
    "err-unexpected-state": ("pair_failed", "The phone was linked already."),
}


def connection(state: str, reason: str, details: str | None = None, until: int | None = None) -> Frame:
    frame: Frame = {"event": "connection", "state": state, "reason": reason}
    return frame | ({"details": details} if details else {}) | ({"until": until} if until else {})


def code(text: str, number: int) -> Frame:
    """Return the frame of a code to scan. The first code is valid for longer than the others."""
    return {"event": "qr", "code": text, "seconds": NEXT_CODE_SECONDS if number else FIRST_CODE_SECONDS}


def login(word: str) -> list[Frame]:
    """Return the frames for the end of the codes; none after a successful scan."""
    if word == "success":
        return []
    reason, details = _LOGINS.get(word, ("pair_failed", word or None))
    return [connection("disconnected", reason, details)]


def linked(device: Any, jid: Any = None, name: str = "") -> Frame:
    """Return the frame with the phone's own account, from the library's device or from the pairing."""
    own = jid if jid is not None else device.JID
    who = person(own, *([device.LID] if device is not None else []), name=name or getattr(device, "PushName", ""))
    return {"event": "linked", **who, "device": format_jid(own)}


def qr(event: Any, _now: int) -> list[Frame]:
    return [code(text, number) for number, text in enumerate(event.Codes[:1])]


def pair_status(event: Any, _now: int) -> list[Frame]:
    if event.Status == neo.PairStatus.SUCCESS:
        return [linked(None, event.ID, event.BusinessName)]
    return [connection("disconnected", "pair_failed", event.Error)]


def connected(_event: Any, _now: int) -> list[Frame]:
    return [connection("connected", "linked")]


def keep_alive_timeout(event: Any, _now: int) -> list[Frame]:
    if event.ErrorCount < _FAILED_PINGS:
        return []
    return [connection("disconnected", "network_gone", f"{event.ErrorCount} signs of life went unanswered.")]


def logged_out(event: Any, _now: int) -> list[Frame]:
    if event.Reason == neo.UNKNOWN_LOGOUT:  # the network sends this for a ban
        return [connection("banned", "banned")]
    if event.Reason == neo.MAIN_DEVICE_GONE:
        return [connection("logged_out", "logged_out", "The account on the phone is locked or was deleted.")]
    return [connection("logged_out", "logged_out")]


def replaced(_event: Any, _now: int) -> list[Frame]:
    return [connection("disconnected", "replaced")]


def temporary_ban(event: Any, now: int) -> list[Frame]:
    return [connection("banned", "banned", _BANS.get(event.Code), now + event.Expire if event.Expire else None)]


def connect_failure(event: Any, now: int) -> list[Frame]:
    match event.Reason:
        case neo.LOGGED_OUT | neo.MAIN_DEVICE_GONE | neo.UNKNOWN_LOGOUT:
            return logged_out(event, now)
        case neo.TEMP_BANNED:
            return [connection("banned", "banned", event.Message or None)]
        case neo.CLIENT_OUTDATED | neo.BAD_USER_AGENT:
            return [connection("disconnected", "outdated_client")]
    name = neo.ConnectFailureReason.Name(event.Reason).lower().replace("_", " ")
    return [connection("disconnected", "stream_error", f"{name}: {event.Message}" if event.Message else name)]


def outdated(_event: Any, _now: int) -> list[Frame]:
    return [connection("disconnected", "outdated_client")]


def stream_error(event: Any, _now: int) -> list[Frame]:
    if event.Code == RESTART:
        return [connection("connecting", "restart_required")]
    return [connection("disconnected", "stream_error", f"Error {event.Code}." if event.Code else None)]


def disconnected(_event: Any, _now: int) -> list[Frame]:
    return [connection("disconnected", "network_gone")]
