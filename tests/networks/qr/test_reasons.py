from gatepost.networks.base import ErrorReaction
from gatepost.networks.qr.reasons import REASONS, REFUSALS, NextStep, reason_of, refused
from tests.for_each import for_each

WORDS = (
    "started linked scan_expired logged_out logged_out_here replaced banned restart_required network_gone stream_error "
    "time_locked outdated_client driver_gone closed pair_failed could_not_load"
)
STATES = {"disconnected", "connecting", "waiting_for_scan", "connected", "logged_out", "banned", "limited"}


def test_the_table_has_every_reason_of_the_protocol() -> None:
    assert set(REASONS) == {*WORDS.split(), "unknown"}
    assert {reason.state for reason in REASONS.values()} <= STATES
    assert all(reason.text.endswith(".") for reason in REASONS.values())


@for_each(
    ("word", "then"),
    [
        ("linked", NextStep.GO_ON),
        ("restart_required", NextStep.RECONNECT),
        ("network_gone", NextStep.BACK_OFF),
        ("driver_gone", NextStep.BACK_OFF),
        ("logged_out", NextStep.STOP),
        ("replaced", NextStep.STOP),
        ("banned", NextStep.STOP),
        ("word of tomorrow", NextStep.BACK_OFF),
        (None, NextStep.BACK_OFF),
    ],
)
def test_each_reason_has_its_reaction(word: str | None, then: NextStep) -> None:
    assert reason_of(word).then is then


@for_each(
    ("code", "reaction"),
    [
        (463, ErrorReaction.HOLD_NEW),
        (429, ErrorReaction.HOLD_CHANNEL),
        (404, ErrorReaction.FINAL),
        (479, ErrorReaction.FINAL),
        (499, ErrorReaction.FINAL),
        (500, ErrorReaction.RETRY),
        (599, ErrorReaction.RETRY),
        (600, ErrorReaction.FINAL),
        (0, ErrorReaction.RETRY),
        (-1, ErrorReaction.FINAL),
    ],
)
def test_each_refusal_has_its_reaction_and_advice(code: int, reaction: ErrorReaction) -> None:
    answer = refused(code, "", "details")
    assert answer.reaction is reaction
    assert (answer.error.code, answer.error.details) == (code, "details")
    assert answer.error.title
    assert answer.error.advice


def test_the_network_s_own_title_is_kept() -> None:
    assert refused(463, "reach-out").error.title == "reach-out"
    assert all(refusal.advice.endswith(".") for refusal in REFUSALS.values())
