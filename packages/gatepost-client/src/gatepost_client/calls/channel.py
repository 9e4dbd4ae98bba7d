"""The channel of the API key: its state, the link to its phone, its profile."""

from collections.abc import Sequence
from typing import Literal

from gatepost_client.calls.builders import act, fetch
from gatepost_client.types import Channel, ChannelConnection, NumberHealth, PairingCode, Profile, QrCode
from gatepost_client.wire import Answer, Call, Request, given, path_of, show_query


def channel() -> Call[Channel]:
    """Return the channel: its kind, capabilities and limits."""
    return fetch(Channel, "channel")


def connect() -> Call[ChannelConnection]:
    """Open the link of a QR channel."""
    return act(ChannelConnection, "POST", "channel", "connect", repeatable=True)


def qr() -> Call[QrCode]:
    """Return the code to scan, as text."""
    return fetch(QrCode, "channel", "qr")


def qr_picture(format: Literal["png", "svg"] = "png") -> Call[bytes]:
    """Return the code to scan, as a picture."""
    request = Request("GET", path_of("channel", "qr"), show_query({"format": format}), repeatable=True)
    return Call(request, _bytes)


def pairing_code(phone: str | None = None) -> Call[PairingCode]:
    """Return a code to type on the phone instead of scanning."""
    return act(PairingCode, "POST", "channel", "pairing-code", body=given(phone=phone), repeatable=True)


def logout() -> Call[ChannelConnection]:
    """Unlink the phone."""
    return act(ChannelConnection, "POST", "channel", "logout")


def profile() -> Call[Profile]:
    """Return the business profile."""
    return fetch(Profile, "channel", "profile")


def change_profile(
    *,
    about: str | None = None,
    address: str | None = None,
    description: str | None = None,
    email: str | None = None,
    websites: Sequence[str] | None = None,
    vertical: str | None = None,
    profile_picture_handle: str | None = None,
) -> Call[Profile]:
    """Change fields of the business profile; an empty string or list clears a field."""
    fields = given(
        about=about,
        address=address,
        description=description,
        email=email,
        websites=websites,
        vertical=vertical,
        profile_picture_handle=profile_picture_handle,
    )
    return act(Profile, "PATCH", "channel", "profile", body=fields, repeatable=True)


def health() -> Call[NumberHealth]:
    """Return the status of the number, as the network reports it."""
    return fetch(NumberHealth, "channel", "health")


def _bytes(answer: Answer) -> bytes:
    return answer.body
