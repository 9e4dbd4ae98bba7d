"""Phone numbers with two forms: with and without a digit that marks mobile phones.

country    form            rule
Brazil     55 DD [9] NNNN NNNN   mobile numbers got a leading 9 between 2012 and 2016 (ANATEL, Resolution 553/2010);
                                 accounts of the network that are older, outside of area codes 11 to 28, keep 8 digits
Mexico     52 [1] 10 digits      the 1 before mobile numbers ended on 3 August 2019 (IFT, numbering plan of 2018)
Argentina  54 [9] 10 digits      the 9 marks mobile numbers that are called from abroad (ENACOM, numbering plan)

The network accepts both forms and reports one of them, so a reply may come from a different number than the message was
sent to. Both forms are the same person.
"""

import re

import msgspec


class NumberFormRule(msgspec.Struct, frozen=True):
    """A country's numbers: the pattern before the optional digit, the digit, and the pattern after it."""

    country: str
    before: str
    digit: str
    after: str


RULES = (
    NumberFormRule("Brazil", "55[1-9][1-9]", "9", "[6-9][0-9]{7}"),
    NumberFormRule("Mexico", "52", "1", "[2-9][0-9]{9}"),
    NumberFormRule("Argentina", "54", "9", "[1-9][0-9]{9}"),
)
_FORMS = re.compile("|".join(f"({rule.before})({rule.digit}?)({rule.after})" for rule in RULES))
_PREFIXES = ("52", "54", "55")


def other_form(phone: str) -> str | None:
    """Return the other form of a number; None if there is only one."""
    if not phone.startswith(_PREFIXES):
        return None
    found = _FORMS.fullmatch(phone)
    if found is None:
        return None
    at = next(i for i in range(0, 3 * len(RULES), 3) if found.group(i + 1) is not None)
    before, digit, after = found.group(at + 1, at + 2, at + 3)
    return before + after if digit else before + RULES[at // 3].digit + after


def forms_of(phone: str) -> tuple[str, ...]:
    """Return all forms of a number, the given one first."""
    other = other_form(phone)
    return (phone,) if other is None else (phone, other)
