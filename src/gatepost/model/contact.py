"""The rules of contacts: their names and custom fields."""

from collections.abc import Mapping
from typing import Any

from gatepost.model.errors import Conflict, FieldProblem, Invalid, invalid_field
from gatepost.model.field_readers import check_storable, plain

NAME_MAX = 256
FIELDS_MAX = 20
FIELD_NAME_MAX = 64
VALUE_MAX = 1024
CHECK_MAX = 50  # phone numbers in one check
# Built-in fields: columns of an imported table with these names mean them, so no custom field may have such a name.
OWN_COLUMNS = ("phone", "name", "opted_out", "id", "username", "labels", "created_at", "updated_at")


def read_name(value: Any, field: str = "name") -> str:
    """Return a contact's name without surrounding spaces."""
    if not isinstance(value, str):
        raise invalid_field(field, "must be a string")
    check_storable(field, value)
    name = value.strip()
    if not name:
        raise invalid_field(field, f"is empty; it must have 1 to {NAME_MAX} characters, or be null to remove the name")
    if len(name) > NAME_MAX:
        raise invalid_field(field, f"may have 1 to {NAME_MAX} characters, but has {len(name):,}")
    return name


def check_custom(custom: Mapping[str, str | None]) -> None:
    """Reject invalid names and values of custom fields. A null removes the field."""
    if len(custom) > 2 * FIELDS_MAX:  # the most that can be added, and as many removed
        raise _too_many(len(custom))
    for name, value in custom.items():
        _check_field_name(name)
        where = f"custom.{plain(name)}"
        if value is not None:
            check_storable(where, value)
            if len(value) > VALUE_MAX:
                raise invalid_field(where, f"may have at most {VALUE_MAX:,} characters, but has {len(value):,}")


def _check_field_name(name: str) -> None:
    check_storable("custom", name)
    if not name.strip() or name != name.strip() or len(name) > FIELD_NAME_MAX:
        raise invalid_field(
            "custom",
            f"the name of a field must have 1 to {FIELD_NAME_MAX} characters, without leading or trailing spaces",
        )
    if name.lower() in OWN_COLUMNS:
        raise invalid_field(f"custom.{name}", "is the name of a built-in field of contacts; choose another")


def merge_custom(before: Mapping[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
    """Return the fields after a change; those set to null are removed."""
    merged = {name: value for name, value in {**before, **change}.items() if value is not None}
    if len(merged) > max(FIELDS_MAX, len(before)):  # merged contacts may have more
        raise _too_many(len(merged))
    return merged


def _too_many(count: int) -> Invalid:
    return invalid_field("custom", f"a contact may have at most {FIELDS_MAX} custom fields, but would have {count}")


def contact_exists(shown_id: str) -> Conflict:
    """Return the error of a number that belongs to another contact."""
    return Conflict(
        f"This number belongs to the contact {shown_id}. Change that contact instead.",
        "contact_exists",
        fields=(FieldProblem("phone", f"belongs to the contact {shown_id}"),),
    )


def opted_out(phone: str | None) -> Invalid:
    """Return the error of a bulk message to a person who opted out of marketing; `phone` if the request names it."""
    who, field = (phone, "phone") if phone else ("this contact", "contact")
    why = f"{who} has opted out of marketing: a message with priority 'bulk' cannot be sent to it"
    return invalid_field(field, why, "opted_out")
