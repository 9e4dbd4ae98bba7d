"""Images, videos, audio, documents and stickers."""

from typing import Any

from gatepost.model.content.parts import read_file, read_parts, read_words
from gatepost.model.content.references import MessageReferences
from gatepost.model.field_readers import read_flag


def read_files(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """A file with whatever its type lets stand beside it."""
    content = read_parts((read_file, "", given, found), (read_words, given, {"caption": "media.caption"}))
    if "voice" in given and read_flag("voice", given["voice"]):
        content["voice"] = True
    return content
