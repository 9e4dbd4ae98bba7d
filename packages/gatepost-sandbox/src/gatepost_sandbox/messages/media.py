"""Files in messages: image, video, audio, document, sticker, and other references to files."""

from collections.abc import Iterable
from typing import Any

import msgspec

from gatepost_sandbox.errors import Refusal, invalid, missing, parameter
from gatepost_sandbox.messages.fields import Refused, as_object, may_bool, may_text, need_text, need_url, only_keys
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.stored_objects import MediaStore, StoredMedia

_FIELDS = {
    "image": ("id", "link", "caption"),
    "video": ("id", "link", "caption"),
    "audio": ("id", "link", "voice"),
    "document": ("id", "link", "caption", "filename"),
    "sticker": ("id", "link"),
}
# The type a file must have to go as this kind of message; a document may be anything.
_MIME = {
    "image": ("image/jpeg", "image/png"),
    "video": ("video/mp4", "video/3gpp"),
    "audio": ("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"),
    "sticker": ("image/webp",),
    "gif": ("video/mp4",),
}
_VOICE = "audio/ogg"


class MediaRef(msgspec.Struct, frozen=True):
    """A reference to a file, and its place in the message."""

    kind: str
    path: str
    id: str | None = None
    link: str | None = None
    voice: bool = False


def check_media(kind: str, content: Any) -> tuple[MediaRef, ...]:
    """Check the fields of a media message."""
    holder = as_object(content, kind)
    only_keys(holder, _FIELDS[kind], kind)
    caption = holder.get("caption")
    if isinstance(caption, str) and len(caption) > LIMITS[f"{kind}.caption"]:
        most = LIMITS[f"{kind}.caption"]
        raise Refused(parameter(f"Param {kind}['caption'] must be at most {most} characters long."))
    may_text(holder, "caption", kind)
    may_text(holder, "filename", kind)
    return (read_ref(kind, holder, kind, voice=may_bool(holder, "voice", kind)),)


def read_ref(kind: str, holder: dict[str, Any], path: str, *, voice: bool = False) -> MediaRef:
    """Return a reference: exactly one of `id` and `link`."""
    given = [name for name in ("id", "link") if holder.get(name) is not None]
    if not given:
        raise Refused(missing(f"{path}.id or {path}.link"))
    if len(given) > 1:
        raise Refused(invalid(path, "must have only one of id and link"))
    if given == ["id"]:
        return MediaRef(kind, path, id=need_text(holder, "id", path), voice=voice)
    return MediaRef(kind, path, link=need_url(holder, "link", path), voice=voice)


def check_refs(refs: Iterable[MediaRef], store: MediaStore, phone_number_id: str, now: float) -> Refusal | None:
    """Return a refusal unless the files of a message exist, belong to this number and have the right type."""
    for ref in refs:
        if ref.id is not None:
            stored = store.find(ref.id, now)
            if stored is None or stored.phone_number_id != phone_number_id:
                return invalid(f"{ref.path}.id", f"{ref.id} is not the id of media of this phone number")
            problem = find_misfit(ref, stored)
            if problem is not None:
                return Refusal(131053, details=problem)
    return None


def find_misfit(ref: MediaRef, stored: StoredMedia) -> str | None:
    """Return why a file cannot go as this kind of message, in words, or None."""
    mime = stored.mime_type.partition(";")[0].strip().lower()
    if ref.voice and mime != _VOICE:
        return f"Media {stored.id} is {mime}: a voice message must be {_VOICE}."
    allowed = _MIME.get(ref.kind)
    if allowed is not None and mime not in allowed:
        return f"Media {stored.id} is {mime}: {ref.kind} must be one of {', '.join(allowed)}."
    most = LIMITS.get(f"media.{ref.kind}.bytes", stored.size)
    return f"Media {stored.id} is larger than {most} bytes." if stored.size > most else None
