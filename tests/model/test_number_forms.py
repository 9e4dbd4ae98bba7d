"""Numbers with two forms: each has one other form, and the other form of that is the first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.number_forms import RULES, forms_of, other_form
from gatepost_sandbox.number_forms import network_form
from tests.for_each import for_each

PAIRS = [
    ("553188887777", "5531988887777"),
    ("551188887777", "5511988887777"),
    ("525512345678", "5215512345678"),
    ("541123456789", "5491123456789"),
]


@pytest.mark.parametrize(("short", "long"), PAIRS)
def test_both_ways(short: str, long: str) -> None:
    assert (other_form(short), other_form(long)) == (long, short)
    assert forms_of(short) == (short, long)


@for_each(
    "phone",
    [
        "551133334444",  # a fixed line
        "55119888877776",  # a digit too many
        "5511888877",  # and too few
        "5501988887777",  # no such area code
        "15550001111",
        "4915112345678",
        "52112345678901",
        "lid:5531988887777",
        "",
    ],
)
def test_others_have_one_form(phone: str) -> None:
    assert other_form(phone) is None
    assert forms_of(phone) == (phone,)


@given(st.one_of([st.from_regex(f"{rule.before}{rule.digit}?{rule.after}", fullmatch=True) for rule in RULES]))
def test_the_other_form_of_the_other_form_is_the_number(phone: str) -> None:
    other = other_form(phone)
    assert other is not None
    assert other != phone
    assert other_form(other) == phone
    assert network_form(phone) == network_form(other)
    assert network_form(phone) in (phone, other)


@given(st.from_regex(r"[1-9][0-9]{6,14}", fullmatch=True))
def test_the_network_writes_a_form_that_we_know(phone: str) -> None:
    assert network_form(phone) in forms_of(phone)
