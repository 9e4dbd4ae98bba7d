"""Keeps frames within the size that the gateway reads. A frame that it skips would never be acknowledged."""

from typing import Any

from gatepost.networks.qr import frames

Frame = dict[str, Any]
_KEPT = ("event", "session", "seq", "id", "from_me", "at", "target", "chat")
_TOO_LARGE = {"title": "Too large", "details": "The message is too large for a link. It can be read on the phone."}
_LONGEST_NAME = 200


class FrameTooLarge(Exception):
    """A frame that is too large, and cannot be shortened."""


def fit_frame(frame: Frame) -> Frame:
    """Return the frame. A message that is too large is replaced by a notice that it arrived."""
    if _fits(frame):
        return frame
    short = _shortened(frame) if frame["event"] == "message" else frame
    if _fits(short):
        return short
    raise FrameTooLarge(f"a frame of the kind {frame['event']} that no gateway reads")


def _fits(frame: Frame) -> bool:
    raw = frames.encode_frame(frame)
    try:
        return len(raw) <= frames.MAX_FRAME and frames.parse_frame(raw) is not None
    except frames.InvalidFrame:
        return False


def _shortened(frame: Frame) -> Frame:
    short = {name: frame[name] for name in _KEPT if name in frame} | {"from": _named(frame["from"])}
    return short | {"type": "unsupported", "content": {"unsupported": _TOO_LARGE}}


def _named(who: dict[str, str]) -> dict[str, str]:
    return {name: value[:_LONGEST_NAME] for name, value in who.items()}
