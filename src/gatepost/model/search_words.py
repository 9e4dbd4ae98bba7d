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
TEXT_MAX = 20_000  # characters of one message that are looked at for words, counted before and after normalising
CONTENT_MAX = 1024 * 1024  # characters of a content that is looked into; a larger one is found by date only
_DEEPEST = 12
_PIECE = 256  # characters normalised at once: putting a run of marks in order takes the square of its length
_SIGNS = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
# What a person does not read: names of files at the network, addresses, codes of fields.
_UNREAD = frozenset(
    ("id", "media", "link", "url", "type", "sha256", "mime_type", "previous", "message_id", "catalog_id", "language")
)


def split(text: str) -> list[str]:
    """The words of a text, in their order."""
    return [word[:WORD_MAX] for word in _WORD.findall(_folded(text[:TEXT_MAX]))]


def _folded(text: str) -> str:
    """A text without case and marks. One character may become eighteen: what grows past the limit is left out."""
    if text.isascii():
        return text.lower()
    bare, size = [], 0
    for start in range(0, len(text), _PIECE):
        bare.append(_bare(text[start : start + _PIECE]))
        size += len(bare[-1])
        if size >= TEXT_MAX:
            break
    return unicodedata.normalize("NFC", "".join(bare)[:TEXT_MAX]).casefold()


def _bare(piece: str) -> str:
    """A piece of a text without its marks. Where pieces are cut makes no difference: marks only move among marks."""
    marked = unicodedata.normalize("NFKD", piece)
    marks = {ord(letter): None for letter in set(marked) if unicodedata.combining(letter)}
    return marked.translate(marks) if marks else marked


def texts(content: str) -> Iterator[str]:
    """What a person reads in a message's content."""
    try:
        yield from _leaves(msgspec.json.decode(content), _DEEPEST)
    except (msgspec.MsgspecError, RecursionError):
        return


def words_of(content: str) -> set[str]:
    """The words that a message is found by."""
    found: list[str] = []
    room = TEXT_MAX
    for text in texts(content) if len(content) <= CONTENT_MAX else ():
        found += split(text[:room])
        room -= len(text) + 1
        if room <= 0 or len(found) >= WORDS_MAX:
            break
    return set(found[:WORDS_MAX])


class SearchQuery(msgspec.Struct, frozen=True):
    """What is searched for: all of these words, and one that begins so."""

    whole: frozenset[str]
    begun: str

    def fits(self, words: set[str]) -> bool:
        return self.whole <= words and any(word.startswith(self.begun) for word in words)


def read_query(text: str) -> SearchQuery:
    """The words of a search; the last one may be unfinished."""
    if len(text) > QUERY_MAX:
        raise invalid_field("q", f"may have at most {QUERY_MAX} characters, but has {len(text)}")
    found = split(text)
    if not found:
        raise invalid_field("q", "has no word to search for; use letters or digits")
    if len(found) > QUERY_WORDS:
        raise invalid_field("q", f"may have at most {QUERY_WORDS} words, but has {len(found)}")
    return SearchQuery(frozenset(found[:-1]), found[-1])


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
