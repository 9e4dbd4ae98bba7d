"""Words of messages, as they are searched for: without accents and case, whatever the language.

"Où est ma Commande?"  ─►  ou, est, ma, commande
"注文 123"              ─►  注, 文, 123            languages without spaces: each sign is a word
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import msgspec

from gatepost.model.errors import invalid_field

QUERY_MAX = 200
QUERY_WORDS = 10
WORD_MAX = 40
WORDS_MAX = 2_000  # of one message: longer ones are found by their first words
_DEEPEST = 12
_SIGNS = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
# What a person does not read: names of files at the network, addresses, codes of fields.
_UNREAD = frozenset(
    ("id", "media", "link", "url", "type", "sha256", "mime_type", "previous", "message_id", "catalog_id", "language")
)


def split(text: str) -> list[str]:
    """The words of a text, in their order."""
    if not text.isascii():
        marked = unicodedata.normalize("NFKD", text)
        bare = "".join(letter for letter in marked if not unicodedata.combining(letter))
        text = unicodedata.normalize("NFC", bare)
    return [word[:WORD_MAX] for word in _WORD.findall(text.casefold())]


def texts(content: str) -> list[str]:
    """What a person reads in a message's content."""
    try:
        return list(_leaves(msgspec.json.decode(content), _DEEPEST))
    except msgspec.MsgspecError:
        return []


def words_of(content: str) -> set[str]:
    """The words that a message is found by."""
    return set([word for text in texts(content) for word in split(text)][:WORDS_MAX])


class Sought(msgspec.Struct, frozen=True):
    """What is searched for: all of these words, and one that begins so."""

    whole: frozenset[str]
    begun: str

    def fits(self, words: set[str]) -> bool:
        return self.whole <= words and any(word.startswith(self.begun) for word in words)


def read_query(text: str) -> Sought:
    """The words of a search; the last one may be unfinished."""
    if len(text) > QUERY_MAX:
        raise invalid_field("q", f"may have at most {QUERY_MAX} characters, but has {len(text)}")
    found = split(text)
    if not found:
        raise invalid_field("q", "has no word to look for; give letters or digits")
    if len(found) > QUERY_WORDS:
        raise invalid_field("q", f"may have at most {QUERY_WORDS} words, but has {len(found)}")
    return Sought(frozenset(found[:-1]), found[-1])


def _leaves(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for name, field in value.items():
            if name not in _UNREAD:
                yield from _leaves(field, depth - 1)
    elif depth and isinstance(value, list):
        for item in value:
            yield from _leaves(item, depth - 1)
