"""Updates of templates, the number and its account.

field of the callback ─► reader(field, value) ─► updates

`callback.py` selects the values of this number and account.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from gatepost.networks.base import ErrorReaction, NumberUpdate, TemplateUpdate, Update
from gatepost.networks.cloud import errors
from gatepost.networks.cloud.json_values import (
    as_dict,
    as_id,
    as_list,
    as_number,
    as_phone,
    as_str,
    as_time,
    limit_depth,
    without_none,
)
from gatepost.networks.cloud.statuses import parse_error

_HIGH_THROUGHPUT = 1000
_TIER = re.compile(r"(?:TIER_)?([0-9]{1,9})(K|M)?")
_TIMES = {None: 1, "K": 1000, "M": 1_000_000}
_WORD_MAX = 128
_BANNED = {"DISABLE": True, "REINSTATE": False}
_NO_OPENING = "RESTRICTED_BIZ_INITIATED_MESSAGING"
_NO_REPLIES = "RESTRICTED_CUSTOMER_INITIATED_MESSAGING"
_RESTRICTIONS = {
    _NO_OPENING: (ErrorReaction.HOLD_NEW, "it may not open conversations"),
    _NO_REPLIES: (ErrorReaction.BREAK, "it may not send messages"),
}
_APPEAL = "Open the account's quality page at the network, and appeal if it is a mistake."
_STATUS_AFTER = {"FLAGGED": "FLAGGED", "UNFLAGGED": "CONNECTED"}
# The status of a template after an event. None: it must be read again.
_TEMPLATE_STATUS = {"REINSTATED": "APPROVED", "UNARCHIVED": None}

Value = dict[str, Any]


def tier(value: Any) -> int | None:
    """Return the limit of conversations in 24 hours from any of its forms; 0 is unlimited."""
    if value == -1 or value in ("-1", "TIER_UNLIMITED"):
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 < value < 2**31 else None
    found = _TIER.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) * _TIMES[found[2]] or None if found else None


def parse_errors(value: Value) -> list[Update]:
    """Parse errors of the number or its account that belong to no message."""
    found = [parse_error([error]) for error in as_list(value.get("errors"))]
    return [
        NumberUpdate(
            "error",
            details=without_none(code=error.code, title=error.title, details=error.details, advice=error.advice),
            reaction=errors.reaction_to(error.code)[0] if error.advice else None,
        )
        for error in found
        if error
    ]


# -- templates ---------------------------------------------------------------------------------------------------------


def _template(value: Value, **changes: Any) -> TemplateUpdate:
    network_id, name = as_id(value.get("message_template_id")), as_id(value.get("message_template_name"), 512)
    if network_id is None or name is None:
        raise ValueError("a template must have an id and a name")
    language = as_str(value.get("message_template_language"), 32) or ""
    return TemplateUpdate(network_id, name, language.replace("-", "_"), **changes)


def _template_status(field: str, value: Value) -> list[Update]:
    event = _word(value.get("event"))
    if event is None:
        raise ValueError("an event is missing")
    status = _TEMPLATE_STATUS.get(event, event)
    return [_template(value, status=status, reason=_reason(value), changed=status is None)]


def _reason(value: Value) -> str | None:
    """Return the network's reason of a rejection or a pause."""
    rejection, other = as_dict(value.get("rejection_info")), as_dict(value.get("other_info"))
    reason = _word(value.get("reason"))
    reasons = [
        None if reason == "NONE" else reason,
        as_str(rejection.get("reason"), 1000),
        as_str(rejection.get("recommendation"), 1000),
        _word(other.get("title")),
        as_str(other.get("description"), 1000),
    ]
    words = list(dict.fromkeys(word for word in reasons if word))
    return ": ".join([*(word.rstrip(".") for word in words[:-1]), *words[-1:]]) or None


def _template_quality(field: str, value: Value) -> list[Update]:
    return [_template(value, quality=_word(value.get("new_quality_score")))]


def _template_category(field: str, value: Value) -> list[Update]:
    """`new_category` is the current category; an announced change is reported as well."""
    changed: list[Update] = [_template(value, category=_word(value.get("new_category")))]
    coming = [NumberUpdate(field, details=limit_depth(value))] if value.get("correct_category") else []
    return changed + coming


def _template_components(field: str, value: Value) -> list[Update]:
    return [_template(value, changed=True)]


# -- the number and its account ----------------------------------------------------------------------------------------


def _number_quality(field: str, value: Value) -> list[Update]:
    event = _word(value.get("event")) or field
    update = NumberUpdate(
        event=event,
        throughput=_HIGH_THROUGHPUT if event == "THROUGHPUT_UPGRADE" else None,
        tier=_limit(value),
        status=_STATUS_AFTER.get(event),
        details=_details(field, value),
    )
    return [update]


def _capability(field: str, value: Value) -> list[Update]:
    return [NumberUpdate(field, tier=_limit(value), details=_details(field, value))]


def _limit(value: Value) -> int | None:
    names = ("max_daily_conversations_per_business", "max_daily_conversation_per_phone", "current_limit")
    return next((found for found in (tier(value.get(name)) for name in names) if found is not None), None)


def _account(field: str, value: Value) -> list[Update]:
    banned = _BANNED.get(_word(as_dict(value.get("ban_info")).get("waba_ban_state")) or "")
    update = NumberUpdate(_word(value.get("event")) or field, banned=banned, details=_details(field, value))
    return [_restricted(update, value)]


def _restricted(update: NumberUpdate, value: Value) -> NumberUpdate:
    """Return the update with what the account may not send, if it is restricted."""
    info = [as_dict(one) for one in as_list(value.get("restriction_info"))]
    found = {kind: one for one in info if (kind := _word(one.get("restriction_type"))) in _RESTRICTIONS}
    if not found:
        return update
    kind = _NO_REPLIES if _NO_REPLIES in found else _NO_OPENING
    reaction, what = _RESTRICTIONS[kind]
    until = _time(found[kind].get("expiration"))
    ends = f" until {until:%Y-%m-%d %H:%M} UTC" if until else ""
    advice = f"The network has restricted the business account: {what}{ends}. {_APPEAL}"
    return msgspec.structs.replace(update, details=update.details | {"advice": advice}, reaction=reaction, until=until)


def _time(value: Any) -> datetime | None:
    try:
        return as_time(value)
    except ValueError:
        return None


def _report_only(field: str, value: Value) -> list[Update]:
    """Return an update without effect here, for users to see."""
    return [NumberUpdate(_word(value.get("event")) or field, details=_details(field, value))]


def _preferences(field: str, value: Value) -> list[Update]:
    """Parse which kinds of messages people have opted in to or out of."""
    found = [_preference(as_dict(one)) for one in as_list(value.get("user_preferences"))]
    preferences = [one for one in found if one["person"] and "value" in one]
    return [NumberUpdate(field, details={"preferences": preferences})] if preferences else []


def _preference(one: Value) -> Value:
    return without_none(
        person=without_none(phone=as_phone(one.get("wa_id")), user_id=as_id(one.get("user_id"))),
        category=_word(one.get("category")),
        value=_word(one.get("value")),
        detail=as_str(one.get("detail"), 1000),
        timestamp=as_number(one.get("timestamp")),
    )


def _details(field: str, value: Value) -> Value:
    return {"field": field} | as_dict(limit_depth(value))


def _word(value: Any) -> str | None:
    return as_str(value, _WORD_MAX)


Reader = Callable[[str, Value], list[Update]]
# The scope of a field: the whole account; one number, by its phone number; one number, by the id in `metadata`.
OF_ACCOUNT: dict[str, Reader] = {
    "message_template_status_update": _template_status,
    "message_template_quality_update": _template_quality,
    "template_category_update": _template_category,
    "message_template_components_update": _template_components,
    "account_update": _account,
    "account_alerts": _report_only,
    "account_review_update": _report_only,
    "business_capability_update": _capability,
}
OF_NUMBER: dict[str, Reader] = {
    "phone_number_quality_update": _number_quality,
    "phone_number_name_update": _report_only,
    "security": _report_only,
}
OF_METADATA: dict[str, Reader] = {"user_preferences": _preferences}
