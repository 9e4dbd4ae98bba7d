import pytest

from gatepost.networks.base import Reaction
from gatepost.networks.qr.reasons import REASONS, REFUSALS, Then, reason_of, refused

WORDS = (
    "started linked scan_expired logged_out logged_out_here replaced banned restart_required network_gone stream_error "
    "time_locked outdated_client driver_gone closed pair_failed could_not_load"
)
STATES = {"disconnected", "connecting", "waiting_for_scan", "connected", "logged_out", "banned", "limited"}


def test_the_table_has_every_reason_of_the_protocol() -> None:
    assert set(REASONS) == {*WORDS.split(), "unknown"}
    assert {reason.state for reason in REASONS.values()} <= STATES
    assert all(reason.says.endswith(".") for reason in REASONS.values())


@pytest.mark.parametrize(
    ("word", "then"),
    [
        ("linked", Then.GO_ON),
        ("restart_required", Then.RECONNECT),
        ("network_gone", Then.BACK_OFF),
        ("driver_gone", Then.BACK_OFF),
        ("logged_out", Then.STOP),
        ("replaced", Then.STOP),
        ("banned", Then.STOP),
        ("word of tomorrow", Then.BACK_OFF),
        (None, Then.BACK_OFF),
    ],
)
def test_each_reason_has_its_reaction(word: str | None, then: Then) -> None:
    assert reason_of(word).then is then


@pytest.mark.parametrize(
    ("code", "reaction"),
    [
        (463, Reaction.HOLD_NEW),
        (429, Reaction.HOLD_CHANNEL),
        (404, Reaction.FINAL),
        (479, Reaction.FINAL),
        (499, Reaction.FINAL),
        (500, Reaction.RETRY),
        (599, Reaction.RETRY),
        (600, Reaction.FINAL),
        (0, Reaction.RETRY),
        (-1, Reaction.FINAL),
    ],
)
def test_each_refusal_has_its_reaction_and_advice(code: int, reaction: Reaction) -> None:
    answer = refused(code, "", "details")
    assert answer.reaction is reaction
    assert (answer.error.code, answer.error.details) == (code, "details")
    assert answer.error.title
    assert answer.error.advice


def test_the_network_s_own_title_is_kept() -> None:
    assert refused(463, "reach-out").error.title == "reach-out"
    assert all(refusal.advice.endswith(".") for refusal in REFUSALS.values())
