"""The content of images, videos, audio, documents and stickers."""

from typing import Any

from gatepost.model.content.parts import read_file, read_parts, read_words
from gatepost.model.content.references import MessageReferences
from gatepost.model.field_readers import read_flag


def read_files(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of a file message: the file, its caption, and whether it is a voice message."""
    content = read_parts((read_file, "", given, found), (read_words, given, {"caption": "media.caption"}))
    if "voice" in given and read_flag("voice", given["voice"]):
        content["voice"] = True
    return content
