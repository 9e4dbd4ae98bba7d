"""Default files that people send: small, with valid first bytes for their type."""

from base64 import b64decode

import msgspec


class Sample(msgspec.Struct, frozen=True):
    """A sample file."""

    mime_type: str
    content: bytes


_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WEBP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

SAMPLES: dict[str, Sample] = {
    "image": Sample("image/png", b64decode(_PNG)),
    "video": Sample("video/mp4", b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"),
    "audio": Sample("audio/mpeg", b"ID3\x04\x00\x00\x00\x00\x00\x00"),
    "voice": Sample("audio/ogg; codecs=opus", b"OggS\x00\x02" + bytes(20) + b"\x01\x13OpusHead"),
    "document": Sample("application/pdf", b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"),
    "sticker": Sample("image/webp", b64decode(_WEBP)),
}
