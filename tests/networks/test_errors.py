"""The table of refusals: whole, sound, and the same in the docs."""

import re
from itertools import pairwise
from pathlib import Path

from gatepost.networks.base import ErrorReaction
from gatepost.networks.cloud.errors import ErrorEntry, by_status, entries, find_entry, reaction_to, with_advice
from tests.docs.network_errors import network_errors_page
from tests.for_each import for_each

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "network-errors.md"
SINGLE = """
0 1 2 3 4 10 33 100 104 190 368 613 80007 80008 130403 130429 130472 130497 131000 131005 131008 131009 131016
131020 131021 131026 131030 131031 131037 131041 131042 131043 131044 131045 131047 131048 131049 131050 131051 131052
131053 131055 131056 131057 131062 131063 131064 131201 131207 131208 132000 132001 132005 132007 132008 132012 132015
132016 132018 132068 132069 133000 133004 133005 133006 133008 133009 133010 133015 133016 134011 134100 134101 134102
134103 135000 136024 137000 138000 138018 139000 139004 139100 139103 147001 147005 200002 2388019 2388039 2388040
2388047 2388072 2388073 2388293 2388299 2494100 200 250 299"""
BREAKS = {
    0,
    3,
    10,
    33,
    104,
    190,
    200,
    131005,
    131031,
    131037,
    131042,
    131045,
    131064,
    133000,
    133006,
    133010,
    133016,
}


@for_each("code", [int(code) for code in SINGLE.split()])
def test_every_code_of_the_network_is_known(code: int) -> None:
    assert find_entry(code) is not None


@for_each("entry", entries())
def test_every_line_says_what_it_means_in_words_for_people(entry: ErrorEntry) -> None:
    assert 0 < len(entry.title) <= 60
    assert entry.advice.endswith(".")
    assert "|" not in entry.title + entry.advice
    assert entry.first <= entry.last


def test_ranges_do_not_overlap() -> None:
    ranges = [entry for entry in entries() if entry.first != entry.last]
    assert all(one.last < next_.first for one, next_ in pairwise(ranges))


@for_each(("code", "known"), [(199, False), (200, True), (299, True), (300, False), (131199, False), (131200, True)])
def test_a_range_has_ends(code: int, known: bool) -> None:
    assert (find_entry(code) is not None) is known


def test_a_code_of_its_own_goes_before_its_range() -> None:
    assert reaction_to(131_208)[0] is ErrorReaction.RETRY
    assert reaction_to(131_207)[0] is ErrorReaction.FINAL


def test_reactions() -> None:
    by_reaction = {reaction: {e.first for e in entries() if e.reaction is reaction} for reaction in ErrorReaction}
    assert by_reaction[ErrorReaction.BREAK] == BREAKS
    assert by_reaction[ErrorReaction.HOLD_RECIPIENT] == {131_056}
    assert by_reaction[ErrorReaction.HOLD_CHANNEL] >= {4, 80_007, 130_429, 131_057, 133_004}
    assert by_reaction[ErrorReaction.HOLD_NEW] == {368, 131_048}
    assert by_reaction[ErrorReaction.RETRY] >= {1, 2, 131_000, 131_016}


def test_patience_that_a_code_asks_for_is_written_down() -> None:
    found = {entry.first: (entry.wait, entry.tries) for entry in entries()}
    assert found[131_049] == (86_400, None)
    assert found[131_000] == (None, 3)


@for_each(
    ("status", "reaction"),
    [
        (None, ErrorReaction.FINAL),
        (400, ErrorReaction.FINAL),
        (428, ErrorReaction.FINAL),
        (429, ErrorReaction.RETRY),
        (430, ErrorReaction.FINAL),
        (499, ErrorReaction.FINAL),
        (500, ErrorReaction.RETRY),
    ],
)
def test_what_nobody_knows_follows_the_status(status: int | None, reaction: ErrorReaction) -> None:
    assert reaction_to(987_654, status) == (reaction, None)
    assert by_status(status) is reaction


def test_the_advice_of_a_failed_message_promises_no_retry() -> None:
    promise = re.compile("automatically|retried|then sent")
    for entry in entries():
        assert bool(promise.search(entry.advice)) == (entry.failed is not None), entry
        assert entry.failed is None or (entry.failed.endswith(".") and not promise.search(entry.failed)), entry
        over = with_advice(entry.last, "t", None).as_final()
        assert (over.advice, over.final_advice) == (entry.failed or entry.advice, None), entry


def test_files_may_be_what_a_refusal_is_about() -> None:
    assert {entry.first for entry in entries() if entry.files} == {100, 131_009, 131_053}


def test_an_unknown_subcode_leaves_the_advice_of_the_code() -> None:
    assert with_advice(100, "t", None, 33_333).advice == with_advice(100, "t", None).advice
    assert with_advice(987_654, "t", "d").advice is None


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert DOCS.read_text() == network_errors_page(), "run `make docs`"
    assert len(re.findall(r"^\| [0-9]", network_errors_page(), re.MULTILINE)) == len(entries())
