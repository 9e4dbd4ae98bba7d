"""Phones, times, keys and access: small rules with sharp edges."""

import contextlib
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import times
from gatepost.model.account import (
    SCOPES,
    Caller,
    Principal,
    check_access,
    check_key,
    check_scope,
    is_key,
    key_hash,
    new_key,
)
from gatepost.model.errors import GatepostError, Invalid, MissingScope, NoAccess, NotAuthenticated
from gatepost.model.person import jid
from gatepost.model.phone import check_phone
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)

# -- phones -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phone", ["5511999998888", "1234567", "123456789012345"])
def test_digits_with_country_code_are_a_phone(phone: str) -> None:
    assert check_phone(phone) == phone
    assert jid(phone) == f"{phone}@s.whatsapp.net"


@for_each(
    ("phone", "hint"),
    [
        ("", "is empty"),
        ("+5511999998888", r"without \+"),
        ("55 11999998888", "without"),
        ("55-11999998888", "without"),
        ("٥٥١١٩٩٩٩٩٨٨٨٨", "digits only"),
        ("5511999998888\n", "digits only"),
        ("0119999988", "country code, not with 0"),
        ("123456", "7 to 15 digits, but has 6"),
        ("1234567890123456", "7 to 15 digits, but has 16"),
    ],
)
def test_an_invalid_phone_number_says_what_is_wrong(phone: str, hint: str) -> None:
    with pytest.raises(Invalid, match=hint) as refused:
        check_phone(phone, "to")
    assert (refused.value.code, refused.value.fields[0].field) == ("invalid_phone", "to")


@given(st.text(alphabet="0123456789+- ٣²", max_size=18))
def test_no_text_breaks_the_check(text: str) -> None:
    with contextlib.suppress(Invalid):
        assert int(check_phone(text)) >= 10**6


# -- times ------------------------------------------------------------------------------------------------------------


def test_a_time_is_shown_in_utc_with_milliseconds() -> None:
    sao_paulo = timezone(timedelta(hours=-3))
    assert times.format_time(datetime(2026, 11, 15, 7, 0, 0, 123_999, tzinfo=sao_paulo)) == "2026-11-15T10:00:00.123Z"
    assert times.format_time(NOW) == "2026-11-15T10:00:00.000Z"
    assert times.format_optional_time(None) is None
    assert times.format_optional_time(NOW) == times.format_time(NOW)


ZONES = st.just(UTC) | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=ZONES))
def test_a_time_is_cut_to_milliseconds(at: datetime) -> None:
    with contextlib.suppress(OverflowError):  # in UTC, the first and the last day may be outside of the calendar
        assert times.format_time(at) == at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_month_is_counted_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert times.month_of(datetime(2026, 12, 1, 8, 59, tzinfo=tokyo)) == date(2026, 11, 1)
    assert times.month_of(datetime(2026, 12, 1, 9, 0, tzinfo=tokyo)) == date(2026, 12, 1)


@given(st.datetimes(datetime(1971, 1, 1), datetime(9990, 1, 1), timezones=st.just(UTC)))
def test_a_month_ends_where_the_next_begins(at: datetime) -> None:
    end = times.month_end(at)
    assert at < end
    assert times.month_of(end) == end.date() != times.month_of(at)
    assert times.month_of(end - timedelta(microseconds=1)) == times.month_of(at)


# -- keys and access --------------------------------------------------------------------------------------------------


def caller(**changes: object) -> Caller:
    principal = {name: changes.pop(name) for name in Principal.__struct_fields__ if name in changes}
    plain = Caller(
        msgspec.structs.replace(Principal("key", UUID(int=1), frozenset({"send"})), **principal),
        channel_id=UUID(int=2),
        account_id=UUID(int=3),
        kind="official",
        phone="15550001111",
        plan="starter",
        suspended=False,
        api_access=False,
        trial_ends_at=NOW + SECOND,
    )
    return msgspec.structs.replace(plain, **changes)


def test_keys_are_long_unlike_each_other_and_stored_as_a_hash() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == len({key_hash(key) for key in keys}) == 100
    assert all(key.startswith("gpk_") and len(key) == 53 for key in keys)
    assert all(len(key_hash(key)) == 32 and key.encode() not in key_hash(key) for key in keys)


def test_every_mistyped_key_is_known_as_such() -> None:
    key = new_key()
    assert is_key(key)
    for place in range(len(key)):
        for letter in ("x", "Q", "0", "-", "é", " "):
            if key[place] != letter:
                assert not is_key(key[:place] + letter + key[place + 1 :]), (key, place, letter)
    for place in range(len(key) - 1):
        if key[place] != key[place + 1]:
            swapped = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
            assert not is_key(swapped), (key, swapped)
    for wrong in (key[:-1], key[1:], key + "x", key + "\n", key.lower(), key.upper(), "", "gpk_"):
        assert not is_key(wrong), wrong


def test_a_key_from_before_there_were_checksums_may_still_be_one() -> None:
    old = "gpk_" + "Ab-_0" * 8 + "xyz"
    assert is_key(old)
    assert not is_key(old[:-1])
    assert not is_key(old + "x")
    assert not is_key("GPK_" + old[4:])


def test_the_checksum_does_not_change() -> None:
    assert is_key("gpk_" + "A" * 43 + "0DofJ8")


def test_a_key_ends_at_its_very_moment() -> None:
    for field in ("expires_at", "revoked_at"):
        alive = caller(**{field: NOW + SECOND})
        assert check_key(alive, NOW) is alive
        with pytest.raises(NotAuthenticated):
            check_key(caller(**{field: NOW}), NOW)


def test_unknown_revoked_and_expired_keys_cannot_be_distinguished() -> None:
    refusals = set()
    for wrong in (None, caller(revoked_at=NOW), caller(expires_at=NOW)):
        with pytest.raises(NotAuthenticated) as refused:
            check_key(wrong, NOW)
        refusals.add((refused.value.code, refused.value.message))
    assert len(refusals) == 1


def code_of(error: type[GatepostError], rejected: Caller) -> str:
    with pytest.raises(error) as refused:
        check_access(rejected, NOW)
    return refused.value.code


def test_access_is_the_trial_or_the_add_on_and_never_while_suspended() -> None:
    check_access(caller(), NOW)
    check_access(caller(trial_ends_at=NOW - SECOND, api_access=True), NOW)
    assert code_of(NoAccess, caller(trial_ends_at=NOW)) == "api_access_required"
    assert code_of(NoAccess, caller(suspended=True, api_access=True)) == "account_suspended"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_is_had_or_missed(scope: str) -> None:
    check_scope(caller(scopes=frozenset({scope})), scope)
    with pytest.raises(MissingScope, match=scope):
        check_scope(caller(scopes=frozenset(SCOPES) - {scope}), scope)
