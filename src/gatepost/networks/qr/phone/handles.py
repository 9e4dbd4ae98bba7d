"""Handles of files on the network. A handle holds all that is needed to download or resend a file, even after restarts.

handle = "m1." + base64url(the library's message with the file's address and keys, and nothing else)
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from gatepost.networks.qr.phone.engine import Uploaded
from gatepost.networks.qr.phone.protos import e2e

FIELDS = {
    "image": "imageMessage",
    "video": "videoMessage",
    "audio": "audioMessage",
    "document": "documentMessage",
    "sticker": "stickerMessage",
}
_ADDRESS = (
    "URL",
    "directPath",
    "mediaKey",
    "mediaKeyTimestamp",
    "fileSHA256",
    "fileEncSHA256",
    "fileLength",
    "mimetype",
)
_PREFIX = "m1."
_SAME_KEYS = {"sticker": "image"}


class BadHandle(Exception):
    """A handle that this driver did not make."""


def pack(kind: str, file: Any) -> str:
    """Return the handle of a file, from a message that holds its address."""
    message = e2e.Message()
    copy_address(file, getattr(message, FIELDS[kind]))
    return _PREFIX + urlsafe_b64encode(message.SerializeToString()).decode().rstrip("=")


def uploaded(kind: str, mime_type: str, done: Uploaded) -> str:
    """Return the handle of a file that was just uploaded."""
    file = getattr(e2e.Message(), FIELDS[kind])
    file.URL, file.directPath, file.mimetype = done.url, done.direct_path, mime_type
    file.mediaKey, file.fileSHA256, file.fileEncSHA256 = done.media_key, done.sha256, done.encrypted_sha256
    file.fileLength = done.size
    return pack(kind, file)


def unpack(handle: str) -> tuple[str, Any]:
    """Return the kind of a file and the message that holds its address."""
    if not handle.startswith(_PREFIX):
        raise BadHandle
    text = handle[len(_PREFIX) :]
    try:
        message = e2e.Message.FromString(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except Exception as error:  # the decoders raise various exceptions
        raise BadHandle from error
    for kind, field in FIELDS.items():
        if message.HasField(field) and getattr(message, field).directPath:
            return kind, message
    raise BadHandle


def copy_address(source: Any, target: Any) -> None:
    """Copy the address and keys of a file from one message to another."""
    for name in _ADDRESS:
        if source.HasField(name):
            setattr(target, name, getattr(source, name))
    target.SetInParent()


def kind_of(mime_type: str) -> str:
    """Return the kind as which a file of this MIME type is uploaded."""
    family = mime_type.partition("/")[0]
    return family if family in ("image", "video", "audio") else "document"


def keys_fit(uploaded: str, wanted: str) -> bool:
    """Return whether a file uploaded as one kind can be sent as another. Its keys depend on the kind."""
    return _SAME_KEYS.get(uploaded, uploaded) == _SAME_KEYS.get(wanted, wanted)
