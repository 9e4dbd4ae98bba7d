"""The callbacks of one official number: the handshake, the signature, and the updates."""

import hashlib
import hmac
import re
from collections.abc import Mapping

import msgspec

from gatepost.model.errors import NotAuthenticated
from gatepost.networks.base import Update
from gatepost.networks.cloud.callback import parse_updates
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.networks.kind import NetworkChannel

_HEADER = b"x-hub-signature-256"
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)


class CloudCallbackReader(msgspec.Struct, frozen=True):
    """Verifies and parses the callbacks of one number."""

    phone_number_id: str
    waba_id: str | None
    phone: str
    app_secret: str
    verify_token: str

    @classmethod
    def open(cls, channel: NetworkChannel) -> "CloudCallbackReader":
        secrets = msgspec.json.decode(channel.secrets, type=ChannelSecrets)
        address = channel.address["phone_number_id"], channel.address.get("waba_id")
        return cls(*address, channel.phone, secrets.app_secret, secrets.verify_token)

    def answer_handshake(self, query: Mapping[str, str]) -> str:
        token = query.get("hub.verify_token", "").encode("utf-8", "replace")
        if query.get("hub.mode") != "subscribe" or not hmac.compare_digest(self.verify_token.encode(), token):
            raise NotAuthenticated("The verify token is not the one of this channel.", "invalid_signature")
        return query.get("hub.challenge", "")

    def check_headers(self, headers: Mapping[bytes, str]) -> None:
        if not _SIGNATURE.fullmatch(headers.get(_HEADER, "")):
            raise NotAuthenticated("The header X-Hub-Signature-256 is missing or malformed.", "invalid_signature")

    def check_signature(self, headers: Mapping[bytes, str], body: bytes) -> None:
        self.check_headers(headers)
        expected = "sha256=" + hmac.digest(self.app_secret.encode(), body, hashlib.sha256).hex()
        if not hmac.compare_digest(expected, headers[_HEADER]):
            raise NotAuthenticated("The signature does not fit this body.", "invalid_signature")

    def parse(self, body: bytes) -> tuple[list[Update], int]:
        return parse_updates(body, self.phone_number_id, self.waba_id, self.phone)
