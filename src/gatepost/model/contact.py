"""Contacts as people keep them: what they may be called, and fields of their own."""

from collections.abc import Mapping
from typing import Any

from gatepost.model.errors import Conflict, FieldProblem, Invalid, invalid_field
from gatepost.model.field_readers import check_storable, plain

NAME_MOST = 256
FIELDS_MOST = 20
FIELD_NAME_MOST = 64
VALUE_MOST = 1024
CHECK_MOST = 50  # numbers in one question to the network
# What a contact has anyway: in a table these columns mean that, so no field of one's own may be called so.
OWN_COLUMNS = ("phone", "name", "opted_out", "id", "username", "labels", "created_at", "updated_at")


def read_name(value: Any, field: str = "name") -> str:
    """A contact's name without the spaces around it, or a refusal."""
    if not isinstance(value, str):
        raise invalid_field(field, "must be a string")
    check_storable(field, value)
    name = value.strip()
    if not name:
        raise invalid_field(field, f"is empty; it takes 1 to {NAME_MOST} characters, and null takes the name away")
    if len(name) > NAME_MOST:
        raise invalid_field(field, f"may have 1 to {NAME_MOST} characters, but has {len(name):,}")
    return name


def check_custom(custom: Mapping[str, str | None]) -> None:
    """Refuses names and values that no contact may have. A null is no value: it takes the field away."""
    if len(custom) > 2 * FIELDS_MOST:  # as many new ones as there may be, and as many that go
        raise _too_many(len(custom))
    for name, value in custom.items():
        _check_field_name(name)
        where = f"custom.{plain(name)}"
        if value is not None:
            check_storable(where, value)
            if len(value) > VALUE_MOST:
                raise invalid_field(where, f"may have up to {VALUE_MOST:,} characters, but has {len(value):,}")


def _check_field_name(name: str) -> None:
    check_storable("custom", name)
    if not name.strip() or name != name.strip() or len(name) > FIELD_NAME_MOST:
        raise invalid_field(
            "custom", f"the name of a field has 1 to {FIELD_NAME_MOST} characters, and no space before or behind"
        )
    if name.lower() in OWN_COLUMNS:
        raise invalid_field(f"custom.{name}", "is the name of something that every contact has; choose another")


def merge_custom(before: Mapping[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
    """The fields with a change put in; those with a null are gone."""
    merged = {name: value for name, value in {**before, **change}.items() if value is not None}
    if len(merged) > max(FIELDS_MOST, len(before)):  # two who were joined may have more, and may lose some
        raise _too_many(len(merged))
    return merged


def _too_many(count: int) -> Invalid:
    return invalid_field("custom", f"a contact may have up to {FIELDS_MOST} fields of its own, but this makes {count}")


def contact_exists(shown_id: str) -> Conflict:
    """The number belongs to somebody already."""
    return Conflict(
        f"This number is already known: it is the contact {shown_id}. Change that one instead.",
        "contact_exists",
        fields=(FieldProblem("phone", f"belongs to the contact {shown_id}"),),
    )


def opted_out(phone: str) -> Invalid:
    """Somebody wants no marketing, and `bulk` is how marketing goes."""
    return invalid_field(
        "phone",
        f"{phone} wants no marketing, so no message of priority 'bulk' goes there",
        "opted_out",
    )
