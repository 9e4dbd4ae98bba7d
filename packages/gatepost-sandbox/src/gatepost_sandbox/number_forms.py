"""The network's spelling of numbers that have two forms; both forms reach the same person.

country    form                    the network writes
Brazil     55 DD [9] NNNN NNNN     the 9 for area codes 11 to 28, and none elsewhere
Mexico     52 [1] 10 digits        the 1
Argentina  54 [9] 10 digits        the 9
"""

import re

_BRAZIL = re.compile(r"(55)([1-9][1-9])9?([6-9][0-9]{7})")
_MEXICO = re.compile(r"521?([2-9][0-9]{9})")
_ARGENTINA = re.compile(r"549?([1-9][0-9]{9})")
_LAST_WITH_NINE = 28


def network_form(phone: str) -> str:
    """Return a number in the network's form, its `wa_id`."""
    if found := _BRAZIL.fullmatch(phone):
        country, area, number = found.groups()
        return f"{country}{area}{'9' if int(area) <= _LAST_WITH_NINE else ''}{number}"
    if found := _MEXICO.fullmatch(phone):
        return f"521{found[1]}"
    if found := _ARGENTINA.fullmatch(phone):
        return f"549{found[1]}"
    return phone
