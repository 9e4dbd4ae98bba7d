"""The key's own channel: how it stands, linking its phone, its profile."""

from collections.abc import Sequence
from typing import Literal

from gatepost_client.calls.making import act, fetch
from gatepost_client.types import Channel, ChannelConnection, NumberHealth, PairingCode, Profile, QrCode
from gatepost_client.wire import Answer, Call, Request, given, path_of, show_query


def channel() -> Call[Channel]:
    """What the channel is, what it carries, and how much room its limits leave."""
    return fetch(Channel, "channel")


def connect() -> Call[ChannelConnection]:
    """Open the link of a QR channel."""
    return act(ChannelConnection, "POST", "channel", "connect", repeatable=True)


def qr() -> Call[QrCode]:
    """The code to scan, as text."""
    return fetch(QrCode, "channel", "qr")


def qr_picture(format: Literal["png", "svg"] = "png") -> Call[bytes]:
    """The code to scan, as a picture."""
    request = Request("GET", path_of("channel", "qr"), show_query({"format": format}), repeatable=True)
    return Call(request, _bytes)


def pairing_code(phone: str | None = None) -> Call[PairingCode]:
    """A code to type on the phone instead of scanning."""
    return act(PairingCode, "POST", "channel", "pairing-code", body=given(phone=phone), repeatable=True)


def logout() -> Call[ChannelConnection]:
    """Unlink the phone."""
    return act(ChannelConnection, "POST", "channel", "logout")


def profile() -> Call[Profile]:
    """How the business shows itself."""
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
    """Change some of it; what is left out stays, an empty text or list takes it away."""
    wishes = given(
        about=about,
        address=address,
        description=description,
        email=email,
        websites=websites,
        vertical=vertical,
        profile_picture_handle=profile_picture_handle,
    )
    return act(Profile, "PATCH", "channel", "profile", body=wishes, repeatable=True)


def health() -> Call[NumberHealth]:
    """Ask the network how the number stands."""
    return fetch(NumberHealth, "channel", "health")


def _bytes(answer: Answer) -> bytes:
    return answer.body
