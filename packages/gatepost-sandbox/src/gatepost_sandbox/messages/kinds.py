"""All types of messages, with the function that validates each."""

from collections.abc import Callable
from functools import partial
from typing import Any

from gatepost_sandbox.messages.interactive import check_interactive
from gatepost_sandbox.messages.media import MediaRef, check_media
from gatepost_sandbox.messages.plain import check_contacts, check_location, check_reaction, check_text
from gatepost_sandbox.messages.template import check_template

Check = Callable[[Any], tuple[MediaRef, ...]]

# A new type of message is one more line here; a check returns the files that the message refers to.
KINDS: dict[str, Check] = {
    "text": check_text,
    "image": partial(check_media, "image"),
    "video": partial(check_media, "video"),
    "audio": partial(check_media, "audio"),
    "document": partial(check_media, "document"),
    "sticker": partial(check_media, "sticker"),
    "location": check_location,
    "contacts": check_contacts,
    "reaction": check_reaction,
    "interactive": check_interactive,
    "template": check_template,
}
