"""What the gateway has to know about a network. Each network is one `NetworkKind`, registered in `kinds.py`."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec
from pyreqwest.client import Client

from gatepost.background import Loop
from gatepost.model.message import Capabilities
from gatepost.networks.base import AcceptedMessage, BusinessAccount, CallbackReader, CredentialReport, Network
from gatepost.networks.qr.driver import Driver


class NetworkChannel(msgspec.Struct, frozen=True):
    """A channel as its network knows it."""

    id: UUID
    phone: str
    address: Mapping[str, Any]  # where it is on its network: ids, URLs
    secrets: bytes  # decrypted; empty if it has none


class NetworkParts(msgspec.Struct, frozen=True):
    """What a process provides to its networks."""

    settings: Any  # those of the gateway; a network reads its own section
    guarded_client: Callable[[UUID, str], AbstractAsyncContextManager[Client]]  # for a file at an unchecked URL
    device_store: Callable[[], Awaitable[str]]  # a database of its own for linked devices
    derive_key: Callable[[bytes], bytes]
    start_loop: Callable[..., Loop]


class Connector(msgspec.Struct, frozen=True):
    """How a process reaches one network. An operation that the network does not have is None."""

    close: Callable[[], Awaitable[None]]
    open: Callable[[NetworkChannel], Network] | None = None  # None: through the link that the channel's owner holds
    driver: Callable[[NetworkChannel], Awaitable[Driver]] | None = None  # holds the links of channels
    business: Callable[[NetworkChannel], BusinessAccount] | None = None  # templates, the profile, the number's state
    test: Callable[[NetworkChannel], Awaitable[CredentialReport]] | None = None  # tests credentials, stored or not


class Callbacks(msgspec.Struct, frozen=True):
    """How a network calls us: at `/callbacks/<path>/<channel>`."""

    path: str
    open: Callable[[NetworkChannel], CallbackReader]


class NetworkKind(msgspec.Struct, frozen=True):
    """A network. Its name is the `kind` of its channels in the API and in the database."""

    name: str
    capabilities: Capabilities
    pacing: Literal["tiers", "warm_up"]  # what limits new conversations; the figures are in the settings
    connect: Callable[[NetworkParts], Connector]
    credentials: bool = False  # its channels have ids and a token at the network, and secrets of its callbacks
    linked: bool = False  # a phone is linked by QR code, and the channel's owner holds the link
    accepted_fields: Callable[[AcceptedMessage], dict[str, Any]] = lambda _: {}  # added to the response to a send
    accepted_alike: bool = False  # whether these fields contain nothing of a message but its id and phone
    keeps_uploads: timedelta | None = None  # how long an uploaded file can be sent; None: while the connection is open
    fetches_links: bool = False  # a message may name a file by its URL, and the network fetches it
    callbacks: Callbacks | None = None  # None: the network does not call us
