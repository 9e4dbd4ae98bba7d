"""What the network says about templates, the number and its account, and whom it concerns."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gatepost.networks.base import ErrorReaction, NumberUpdate, TemplateUpdate, Update
from gatepost.networks.cloud.account_updates import OF_ACCOUNT, OF_METADATA, OF_NUMBER, tier
from gatepost.networks.cloud.callback import parse_updates
from gatepost.networks.cloud.errors import with_advice
from tests.for_each import for_each
from tests.networks.callbacks import NUMBER, OUR_PHONE, PERSON, WABA, callback, read, value

TEMPLATE = {
    "message_template_id": 1689,
    "message_template_name": "order_ok",
    "message_template_language": "en-US",
}


def seen(field: str, *values: Any, waba: str = WABA) -> list[Update]:
    updates, unread = parse_updates(callback(*values, field=field, waba=waba), NUMBER, WABA, OUR_PHONE)
    assert unread == 0
    return updates


def template(**changes: Any) -> list[TemplateUpdate]:
    return [TemplateUpdate("1689", "order_ok", "en_US", **changes, at=datetime.fromtimestamp(1, UTC))]


# -- templates --------------------------------------------------------------------------------------------------------


@for_each(
    ("more", "changes"),
    [
        ({"event": "APPROVED", "reason": "NONE"}, {"status": "APPROVED"}),
        ({"event": "REJECTED", "reason": "INVALID_FORMAT"}, {"status": "REJECTED", "reason": "INVALID_FORMAT"}),
        (
            {
                "event": "REJECTED",
                "reason": "INVALID_FORMAT",
                "rejection_info": {"reason": "Variables", "recommendation": "Add words"},
            },
            {"status": "REJECTED", "reason": "INVALID_FORMAT: Variables: Add words"},
        ),
        (
            {
                "event": "REJECTED",
                "reason": "INVALID_FORMAT",
                "rejection_info": {"reason": "It is not valid.", "recommendation": "Write more."},
            },
            {"status": "REJECTED", "reason": "INVALID_FORMAT: It is not valid: Write more."},
        ),
        (
            {"event": "PAUSED", "reason": None, "other_info": {"title": "FIRST_PAUSE", "description": "3 hours"}},
            {"status": "PAUSED", "reason": "FIRST_PAUSE: 3 hours"},
        ),
        ({"event": "REINSTATED"}, {"status": "APPROVED"}),
        ({"event": "UNARCHIVED"}, {"changed": True}),
        ({"event": "SOMETHING_NEW"}, {"status": "SOMETHING_NEW"}),
    ],
)
def test_the_status_of_a_template(more: Any, changes: Any) -> None:
    assert seen("message_template_status_update", TEMPLATE | more) == template(**changes)


def test_quality_category_and_components_of_a_template() -> None:
    quality = {"previous_quality_score": "GREEN", "new_quality_score": "RED"}
    assert seen("message_template_quality_update", TEMPLATE | quality) == template(quality="RED")
    category = {"previous_category": "UTILITY", "new_category": "MARKETING"}
    assert seen("template_category_update", TEMPLATE | category) == template(category="MARKETING")
    assert seen("message_template_components_update", TEMPLATE) == template(changed=True)


def test_a_future_category_is_reported_and_not_used_yet() -> None:
    coming = TEMPLATE | {"new_category": "UTILITY", "correct_category": "MARKETING", "category_update_timestamp": 9}
    assert seen("template_category_update", coming) == [
        *template(category="UTILITY"),
        NumberUpdate("template_category_update", details=coming),
    ]


@pytest.mark.parametrize("missing", ["message_template_id", "message_template_name", "event"])
def test_a_template_that_nobody_could_find_is_unread(missing: str) -> None:
    odd = {name: v for name, v in (TEMPLATE | {"event": "APPROVED"}).items() if name != missing}
    good = TEMPLATE | {"event": "APPROVED"}
    body = callback(odd, good, field="message_template_status_update")
    assert parse_updates(body, NUMBER, WABA) == (template(status="APPROVED"), 1)


# -- the number -------------------------------------------------------------------------------------------------------


@for_each(
    ("written", "meant"),
    [
        ("TIER_250", 250),
        ("TIER_1K", 1000),
        ("TIER_2K", 2000),
        ("TIER_100K", 100_000),
        ("TIER_UNLIMITED", 0),
        ("TIER_NOT_SET", None),
        ("2000", 2000),
        ("-1", 0),
        (2000, 2000),
        (-1, 0),
        (0, None),
        (2**31 - 1, 2**31 - 1),
        (2**31, None),
        (True, None),
        (None, None),
        ([], None),
        ("TIER_", None),
    ],
)
def test_a_tier_in_all_the_ways_to_write_it(written: Any, meant: int | None) -> None:
    assert tier(written) == meant
    news = seen("business_capability_update", {"max_daily_conversations_per_business": written})
    assert [update.tier for update in news if isinstance(update, NumberUpdate)] == [meant]


@for_each(
    ("more", "changes"),
    [
        ({"event": "THROUGHPUT_UPGRADE"}, {"throughput": 1000}),
        ({"event": "UPGRADE", "old_limit": "TIER_2K", "current_limit": "TIER_10K"}, {"tier": 10_000}),
        ({"event": "ONBOARDING", "max_daily_conversations_per_business": "TIER_250"}, {"tier": 250}),
        ({"event": "FLAGGED"}, {"status": "FLAGGED"}),
        ({"event": "UNFLAGGED"}, {"status": "CONNECTED"}),
        ({"event": "SOMETHING_NEW"}, {}),
    ],
)
def test_the_quality_of_the_number(more: Any, changes: Any) -> None:
    sent = {"display_phone_number": OUR_PHONE} | more
    details = {"field": "phone_number_quality_update"} | sent
    assert seen("phone_number_quality_update", sent) == [NumberUpdate(more["event"], details=details, **changes)]


@pytest.mark.parametrize(
    ("state", "banned"), [("DISABLE", True), ("REINSTATE", False), ("SCHEDULE_FOR_DISABLE", None), (None, None)]
)
def test_an_account_may_be_banned(state: Any, banned: bool | None) -> None:
    sent = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": state, "waba_ban_date": "April 17, 2025"}}
    details = {"field": "account_update"} | sent
    assert seen("account_update", sent) == [NumberUpdate("DISABLED_UPDATE", banned=banned, details=details)]


BUSINESS, CUSTOMER = "RESTRICTED_BIZ_INITIATED_MESSAGING", "RESTRICTED_CUSTOMER_INITIATED_MESSAGING"


@for_each(
    ("restrictions", "reaction"),
    [
        ([{"restriction_type": BUSINESS, "expiration": 1794736800}], ErrorReaction.HOLD_NEW),
        ([{"restriction_type": BUSINESS}], ErrorReaction.HOLD_NEW),
        ([{"restriction_type": BUSINESS}, {"restriction_type": CUSTOMER}], ErrorReaction.BREAK),
        ([{"restriction_type": CUSTOMER, "expiration": "odd"}], ErrorReaction.BREAK),
        ([{"restriction_type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION"}, "odd", {"restriction_type": 5}], None),
        ("odd", None),
        (None, None),
    ],
)
def test_a_restricted_account(restrictions: Any, reaction: ErrorReaction | None) -> None:
    sent = {"event": "ACCOUNT_RESTRICTION", "restriction_info": restrictions}
    [update] = seen("account_update", sent)
    assert isinstance(update, NumberUpdate)
    assert (update.event, update.reaction) == ("ACCOUNT_RESTRICTION", reaction)
    assert ("advice" in update.details) == (reaction is not None)
    if restrictions == [{"restriction_type": BUSINESS, "expiration": 1794736800}]:
        assert "until 2026-11-15 10:00 UTC" in update.details["advice"]


@for_each(
    ("field", "sent", "event"),
    [
        ("account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": []}, "ACCOUNT_RESTRICTION"),
        ("account_review_update", {"decision": "APPROVED"}, "account_review_update"),
        ("account_alerts", {"entity_type": "BUSINESS", "alert_info": {"alert_type": "X"}}, "account_alerts"),
        ("account_alerts", {"entity_type": "PHONE_NUMBER", "entity_id": int(NUMBER)}, "account_alerts"),
        ("phone_number_name_update", {"decision": "APPROVED"}, "phone_number_name_update"),
        ("security", {"event": "PIN_CHANGED", "requester": "1"}, "PIN_CHANGED"),
    ],
)
def test_what_has_no_consequence_is_passed_on(field: str, sent: dict[str, Any], event: str) -> None:
    assert seen(field, sent) == [NumberUpdate(event, details={"field": field} | sent)]


def test_problems_without_a_message_are_reported_with_advice() -> None:
    error = {"code": 130429, "title": "Rate limit hit", "error_data": {"details": "Slow down"}}
    advice = with_advice(130429, "", None).advice
    shown = {"code": 130429, "title": "Rate limit hit", "details": "Slow down", "advice": advice}
    news = NumberUpdate("error", details=shown, reaction=ErrorReaction.HOLD_CHANNEL)
    assert read(value(errors=[error, "odd"])) == ([news], 0)
    nothing: list[Any] = [[], None, "odd", {}]
    assert [read(value(errors=none)) for none in nothing] == [([], 0)] * 4


def test_preferences_of_people() -> None:
    option = {"wa_id": PERSON, "category": "marketing_messages", "value": "stop", "detail": "No more", "timestamp": 9}
    shown = {key: v for key, v in option.items() if key != "wa_id"} | {"person": {"phone": PERSON}}
    other = {"person": {"user_id": "BR.1"}, "value": "resume"}
    options = [option, "odd", {"value": "stop"}, {"wa_id": PERSON}, {"user_id": "BR.1", "value": "resume"}]
    assert seen("user_preferences", value(user_preferences=options)) == [
        NumberUpdate("user_preferences", details={"preferences": [shown, other]})
    ]
    assert seen("user_preferences", value(user_preferences=["odd"])) == []
    assert seen("user_preferences", value("999", user_preferences=[option])) == []


# -- whom it concerns -------------------------------------------------------------------------------------------------

CAPABILITY = {"max_daily_conversations_per_business": 2000}


def test_updates_of_another_account_are_ignored() -> None:
    assert seen("business_capability_update", CAPABILITY, waba="999") == []
    assert seen("security", {"event": "PIN_CHANGED"}, waba="999") == []
    anyone = parse_updates(callback(CAPABILITY, field="business_capability_update", waba="999"), NUMBER)
    assert len(anyone[0]) == 1


@pytest.mark.parametrize("written", [OUR_PHONE, "+1 555-000-1111", "", None])
def test_updates_of_our_number_count_however_it_is_written(written: Any) -> None:
    assert len(seen("security", {"event": "PIN_CHANGED", "display_phone_number": written})) == 1


def test_updates_of_another_number_are_ignored() -> None:
    other = {"event": "FLAGGED", "display_phone_number": "15550002222"}
    assert seen("phone_number_quality_update", other) == []
    assert seen("account_alerts", {"entity_type": "PHONE_NUMBER", "entity_id": "999"}) == []
    unknown = parse_updates(callback(other, field="phone_number_quality_update"), NUMBER, WABA)
    assert len(unknown[0]) == 1


@pytest.mark.parametrize("odd", [None, 5, "odd", []])
def test_updates_without_content_are_counted_and_break_nothing(odd: Any) -> None:
    body = callback(odd, {"decision": "APPROVED"}, field="account_review_update")
    details = {"field": "account_review_update", "decision": "APPROVED"}
    assert parse_updates(body, NUMBER, WABA) == ([NumberUpdate("account_review_update", details=details)], 1)


@pytest.mark.parametrize(
    "page", ["docs/how-to/connect-an-official-number.md", "dashboard/src/pages/channels/CallbackFields.tsx"]
)
def test_people_are_told_to_subscribe_to_every_field_that_is_read(page: str) -> None:
    text = (Path(__file__).parents[2] / page).read_text()
    fields = ["messages", "smb_message_echoes", *OF_ACCOUNT, *OF_NUMBER, *OF_METADATA]
    assert [field for field in fields if f"`{field}`" not in text and f'"{field}"' not in text] == []
