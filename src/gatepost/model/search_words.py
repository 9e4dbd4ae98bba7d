"""The words of messages for searches: without accents and case, in any language.

"Où est ma Commande?"  ─►  ou, est, ma, commande
"注文 123"              ─►  注, 文, 123            languages without spaces: each character is a word
"किताब"                 ─►  क, त, ब               the index has no vowel signs: see `SearchQuery.exact`
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from gatepost.model.errors import invalid_field

QUERY_MAX = 200
QUERY_WORDS = 10
WORD_MAX = 40
WORDS_MAX = 2_000  # per message: longer ones are found by their first words
TEXT_MAX = 20_000  # characters per message that are split into words, counted before and after normalising
CONTENT_MAX = 1024 * 1024  # characters of a content that is split into words; a longer one is found by date only
_DEEPEST = 12
_PIECE = 256  # characters normalised at once: sorting a run of marks takes quadratic time
_SIGNS = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
# In the scripts of India and Sri Lanka, vowels are signs within a word, which `\w` does not include.
_INDIC = re.compile(r"[\u0900-\u0dff]")
_VOWELS = "".join(sign for sign in map(chr, range(0x0900, 0x0E00)) if unicodedata.category(sign) in ("Mn", "Mc"))
_LETTERS = rf"(?:[^\W_{_SIGNS}]|[{_VOWELS}])+"
_EXACT_WORD = re.compile(rf"[{_SIGNS}]|{_LETTERS}")
_COUNTED_WORD = re.compile(rf"[{_SIGNS}]+|{_LETTERS}")
_JOINERS = dict.fromkeys((0x200C, 0x200D))  # they change the shape of letters, and not every keyboard writes them
# Fields that are not text for people: ids of files, addresses, codes.
_UNREAD = frozenset(
    ("id", "media", "link", "url", "type", "sha256", "mime_type", "previous", "message_id", "catalog_id", "language")
)


def split(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return [word[:WORD_MAX] for word in _WORD.findall(_folded(text[:TEXT_MAX]))]


def split_exactly(text: str) -> list[str]:
    """Return the words of a text with their vowel signs, in order."""
    return [word[:WORD_MAX] for word in _EXACT_WORD.findall(_joined(text))]


def _joined(text: str) -> str:
    return _folded(text[:TEXT_MAX]).translate(_JOINERS)


def _folded(text: str) -> str:
    """Return a text without case and marks. One character may become 18; text beyond the limit is cut off."""
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
    """Return a part of a text without marks. The cuts do not matter, as normalising moves marks only among marks."""
    marked = unicodedata.normalize("NFKD", piece)
    marks = {ord(letter): None for letter in set(marked) if unicodedata.combining(letter)}
    return marked.translate(marks) if marks else marked


def texts(content: str) -> Iterator[str]:
    """Yield the texts of a message's content that people read."""
    try:
        yield from _leaves(msgspec.json.decode(content), _DEEPEST)
    except (msgspec.MsgspecError, RecursionError):
        return


def words_of(content: str, split: Callable[[str], list[str]] = split) -> set[str]:
    """Return the words by which a message is found."""
    found: list[str] = []
    room = TEXT_MAX
    for text in texts(content) if len(content) <= CONTENT_MAX else ():
        found += split(text[:room])
        room -= len(text) + 1
        if room <= 0 or len(found) >= WORDS_MAX:
            break
    return set(found[:WORDS_MAX])


class SearchQuery(msgspec.Struct, frozen=True):
    """The words of a search: all of `whole`, and a word that begins with `begun`.

    If the words of the index do not suffice, a message that has them is compared with `exact`.
    """

    whole: frozenset[str]
    begun: str
    exact: "SearchQuery | None" = None

    def fits(self, words: set[str]) -> bool:
        return self.whole <= words and any(word.startswith(self.begun) for word in words)

    def fits_content(self, content: str) -> bool:
        """Whether a message contains the words."""
        if self.exact is None:
            return self.fits(words_of(content))
        return self.exact.fits(words_of(content, split_exactly))


def read_query(text: str) -> SearchQuery:
    """Parse the words of a search; the last one may be incomplete."""
    if len(text) > QUERY_MAX:
        raise invalid_field("q", f"may have at most {QUERY_MAX} characters, but has {len(text)}")
    found, exact = split(text), split_exactly(text)
    if not found:
        raise invalid_field("q", "has no word to search for; use letters or digits")
    count = len(_COUNTED_WORD.findall(_joined(text)))  # characters of a language without spaces are one word
    if count > QUERY_WORDS:
        raise invalid_field("q", f"may have at most {QUERY_WORDS} words, but has {count}")
    whole, begun = frozenset(found[:-1]), found[-1]
    if len(whole) < QUERY_WORDS and not _INDIC.search(text):
        return SearchQuery(whole, begun)
    longest = sorted(whole, key=lambda word: (-len(word), word))[: QUERY_WORDS - 1]
    return SearchQuery(frozenset(longest), begun, SearchQuery(frozenset(exact[:-1]), exact[-1]))


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
