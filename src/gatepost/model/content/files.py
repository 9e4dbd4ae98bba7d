"""Images, videos, audio, documents and stickers."""

from typing import Annotated

from msgspec import Meta

from gatepost.model.content.fields import MessageType, text
from gatepost.model.content.parts import File, FileName

Caption = Annotated[str, text("media.caption")]
Voice = Annotated[bool, Meta(description="Show an audio file as a voice message.")]

TYPES = {
    "image": MessageType(
        "An uploaded image",
        required={"media": File},
        optional={"caption": Caption},
        example={"media": {"id": "{{image_id}}"}, "caption": "Fresh today"},
    ),
    "video": MessageType(
        "An uploaded video",
        required={"media": File},
        optional={"caption": Caption},
        example={"media": {"id": "{{video_id}}"}, "caption": "How it is baked"},
    ),
    "audio": MessageType(
        "A voice message",
        required={"media": File},
        optional={"voice": Voice},
        example={"media": {"id": "{{audio_id}}"}, "voice": True},
    ),
    "document": MessageType(
        "A document with its file name",
        required={"media": File},
        optional={"caption": Caption, "filename": FileName},
        example={"media": {"id": "{{document_id}}"}, "caption": "Your bill", "filename": "bill-1001.pdf"},
    ),
    "sticker": MessageType(
        "A sticker", required={"media": File}, optional={}, example={"media": {"id": "{{sticker_id}}"}}
    ),
}
