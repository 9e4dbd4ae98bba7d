"""Phone numbers: digits with country code, without separators, as in the seed."""

from gatepost.model.errors import Invalid, invalid_field

SUFFIX = "@s.whatsapp.net"


def check_phone(phone: str, field: str = "phone") -> str:
    """Return the number, or raise an error that says what is wrong with it."""
    if phone.isascii() and phone.isdigit() and 7 <= len(phone) <= 15 and phone[0] != "0":
        return phone
    raise _refusal(phone, field)


def _refusal(phone: str, field: str) -> Invalid:
    if not phone:
        why = "is empty; enter the number as digits with the country code, e.g. 5511999998888"
    elif not (phone.isascii() and phone.isdigit()):
        why = "must be digits only, with the country code and without +, spaces or dashes, e.g. 5511999998888"
    elif phone[0] == "0":
        why = "must begin with the country code, not with 0"
    else:
        why = f"must have 7 to 15 digits, but has {len(phone)}"
    return invalid_field(field, why, "invalid_phone")
