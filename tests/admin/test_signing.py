"""The secrets of endpoints: created, rotated, limited, and never lost in concurrent rotations."""

import asyncio
from datetime import datetime, timedelta

import pytest

from gatepost.admin import endpoints, signing
from gatepost.admin.endpoints import NewEndpoint
from gatepost.admin.signing import LIVE_MAX, OVERLAP_MAX, SigningSecret
from gatepost.admin.vault import Vault
from gatepost.model.errors import Conflict, Invalid
from gatepost.model.signing import decode_check, decode_secret, new_secret, public_key, signing_of
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants
from tests.for_each import for_each

URL = "https://example.com/hooks"
SECOND = timedelta(seconds=1)


@pytest.fixture
async def made(db: Database, vault: Vault, tenants: Tenants) -> NewEndpoint:
    """Give an endpoint of our own."""
    return await endpoints.create_endpoint(db, vault, tenants.my_channel, URL, now=NOW)


class Rotator:
    """Rotates the secret of one endpoint."""

    def __init__(self, db: Database, vault: Vault, made: NewEndpoint) -> None:
        self.db, self.vault, self.endpoint = db, vault, made.endpoint

    async def rotate(self, overlap: timedelta, at: datetime = NOW, kind: str | None = None) -> NewEndpoint:
        place = (self.endpoint.channel_id, self.endpoint.id)
        return await endpoints.rotate_secret(self.db, self.vault, *place, overlap=overlap, signing=kind, now=at)

    async def kept(self) -> tuple[SigningSecret, ...]:
        endpoint = await endpoints.get_endpoint(self.db, self.endpoint.channel_id, self.endpoint.id)
        return endpoints.signing_secrets(self.vault, endpoint)

    async def live(self, at: datetime) -> list[str]:
        return [one.shown for one in signing.live_secrets(await self.kept(), at)]


@pytest.fixture
def rotator(db: Database, vault: Vault, made: NewEndpoint) -> Rotator:
    """Give functions for the endpoint."""
    return Rotator(db, vault, made)


async def test_old_secrets_sign_until_they_expire(rotator: Rotator, made: NewEndpoint) -> None:
    second = await rotator.rotate(timedelta(hours=2))
    third = await rotator.rotate(timedelta(hours=5), NOW + timedelta(hours=1))
    one, two, three = made.secret, second.secret, third.secret
    for hours, wanted in ((1, [three, two, one]), (2, [three, two]), (6, [three])):
        end = NOW + timedelta(hours=hours)
        assert await rotator.live(end) == wanted
    assert await rotator.live(NOW + timedelta(hours=2) - SECOND / 1000) == [three, two, one]
    assert await rotator.live(NOW + timedelta(hours=6) - SECOND / 1000) == [three, two]


async def test_a_shorter_overlap_ends_older_ones_sooner_and_none_ends_all(rotator: Rotator) -> None:
    await rotator.rotate(timedelta(days=7))
    third = await rotator.rotate(timedelta(minutes=1))
    assert len(await rotator.live(NOW + timedelta(minutes=1) - SECOND)) == 3
    assert await rotator.live(NOW + timedelta(minutes=1)) == [third.secret]
    last = await rotator.rotate(timedelta(0))
    assert await rotator.live(NOW) == [last.secret]
    assert len(await rotator.kept()) == 1


@pytest.mark.parametrize(
    ("overlap", "good"),
    [(-SECOND, False), (timedelta(0), True), (OVERLAP_MAX, True), (OVERLAP_MAX + SECOND, False)],
)
async def test_an_overlap_is_at_most_seven_days(rotator: Rotator, overlap: timedelta, good: bool) -> None:
    before = await rotator.kept()
    if good:
        await rotator.rotate(overlap)
        return
    with pytest.raises(Invalid, match="604800"):
        await rotator.rotate(overlap)
    assert await rotator.kept() == before


async def test_at_most_ten_secrets_live(rotator: Rotator) -> None:
    for count in range(2, LIVE_MAX + 1):
        await rotator.rotate(timedelta(hours=count))
        assert len(await rotator.live(NOW)) == count
    before = await rotator.kept()
    with pytest.raises(Conflict, match="at most 10"):
        await rotator.rotate(timedelta(hours=1))
    assert await rotator.kept() == before
    # One whose time is over makes room, and so does the end of all.
    await rotator.rotate(timedelta(hours=1), NOW + timedelta(hours=2))
    assert len(await rotator.live(NOW + timedelta(hours=2))) == LIVE_MAX
    await rotator.rotate(timedelta(0))
    assert len(await rotator.live(NOW)) == 1


async def test_concurrent_rotations_lose_no_secret(rotator: Rotator, made: NewEndpoint) -> None:
    results = await asyncio.gather(*(rotator.rotate(timedelta(hours=1)) for _ in range(4)))
    assert set(await rotator.live(NOW)) == {made.secret, *(one.secret for one in results)}


async def test_from_a_shared_secret_to_a_public_key_and_back(rotator: Rotator, made: NewEndpoint) -> None:
    second = await rotator.rotate(timedelta(hours=1), kind="v1a")
    assert second.secret.startswith("whpk_")
    assert [one.signing for one in await rotator.kept()] == ["v1a", "v1"]
    assert await rotator.live(NOW) == [second.secret, made.secret]
    third = await rotator.rotate(timedelta(hours=1))
    assert third.secret.startswith("whpk_")
    assert third.secret != second.secret
    assert (await rotator.rotate(timedelta(hours=1), kind="v1")).secret.startswith("whsec_")
    with pytest.raises(Invalid, match="v1, v1a"):
        await rotator.rotate(timedelta(hours=1), kind="v2")


async def test_the_private_half_is_never_shown(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await endpoints.create_endpoint(db, vault, tenants.my_channel, URL, signing="v1a", now=NOW)
    (kept,) = endpoints.signing_secrets(vault, made.endpoint)
    assert kept.secret.startswith("whsk_")
    assert made.secret == public_key(kept.secret) == kept.shown
    assert kept.secret.encode() not in made.endpoint.secret
    with pytest.raises(Invalid, match="signing"):
        await endpoints.create_endpoint(db, vault, tenants.my_channel, URL, signing="none", now=NOW)


# -- how secrets are written ------------------------------------------------------------------------------------------


def test_a_private_key_is_a_seed_and_its_public_key() -> None:
    secret = new_secret("v1a")
    assert signing_of(secret) == "v1a"
    public = public_key(secret)
    assert public is not None
    assert public.startswith("whpk_")
    key, check = decode_secret(secret), decode_check(public)
    assert not isinstance(key, bytes)
    assert not isinstance(check, bytes)
    check.verify(key.sign(b"text"), b"text")
    assert decode_check(secret).public_bytes_raw() == check.public_bytes_raw()  # type: ignore[union-attr]


@for_each(
    "secret",
    ["whsk_", "whsk_QUJD", "whsk_" + "A" * 88, "whsk_é", "whpk_QUJD", "whpk_" + "A" * 48, "whsec_QUJD"],
)
def test_an_invalid_key_is_rejected_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match=r"signing secret") as caught:
        decode_check(secret)
    assert secret.partition("_")[2] not in str(caught.value) or secret.endswith("_")
