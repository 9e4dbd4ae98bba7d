"""Headers of webhooks at rest: encrypted, bound to their place, and readable where an older version wrote them."""

import msgspec
import pytest

from gatepost.admin import endpoints
from gatepost.admin.headers import is_sealed, open_headers, seal_headers, seal_old_headers
from gatepost.admin.vault import Vault, VaultError
from gatepost.model import ids
from gatepost.store.endpoints import get_endpoint
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants
from tests.admin.test_endpoints import URL

HEADERS = {"X-Api-Key": "hush", "Authorization": "Bearer a b", "X-Empty": ""}
ONE, OTHER = ids.new_id(NOW), ids.new_id(NOW)


async def stored(db: Database, endpoint_id: object) -> dict[str, str]:
    async with db.connection() as conn:
        text = await conn.fetchval("SELECT headers FROM endpoints WHERE id = $1", endpoint_id)
    return msgspec.json.decode(text, type=dict[str, str])


def test_what_was_sealed_opens_in_its_place_only(vault: Vault) -> None:
    sealed = seal_headers(vault, ONE, HEADERS)
    assert is_sealed(sealed)
    assert sealed.keys() == HEADERS.keys()
    assert not any("hush" in value for value in sealed.values())
    assert open_headers(vault, ONE, sealed) == HEADERS
    for endpoint_id, moved, key in (
        (OTHER, sealed, vault),
        (ONE, {"X-Other": sealed["X-Api-Key"]}, vault),
        (ONE, sealed, Vault(bytes(32))),
        (ONE, {"X-Api-Key": " sealed:!"}, vault),
    ):
        with pytest.raises(VaultError):
            open_headers(key, endpoint_id, moved)


def test_what_an_older_version_wrote_stays_readable(vault: Vault) -> None:
    old = {"X-Api-Key": "hush", "X-Odd": "sealed:abc"}
    assert not is_sealed(old)
    assert open_headers(vault, ONE, old) == old


async def test_headers_are_stored_sealed_by_creation_and_change(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await endpoints.create_endpoint(db, vault, tenants.my_channel, URL, headers=HEADERS, now=NOW)
    assert is_sealed(await stored(db, made.endpoint.id))
    assert endpoints.headers_of(vault, made.endpoint) == HEADERS
    changed = await endpoints.change_endpoint(
        db, vault, tenants.my_channel, made.endpoint.id, headers={"X-A": "1"}, now=NOW
    )
    assert is_sealed(await stored(db, changed.id))
    assert endpoints.headers_of(vault, changed) == {"X-A": "1"}


async def test_old_headers_are_sealed_on_request_and_only_once(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = [
        (await endpoints.create_endpoint(db, vault, tenants.my_channel, URL, headers=headers, now=NOW)).endpoint
        for headers in (HEADERS, {"X-New": "2"}, {})
    ]
    async with db.connection() as conn:
        await conn.execute(
            "UPDATE endpoints SET headers = $2 WHERE id = $1", made[0].id, msgspec.json.encode(HEADERS).decode()
        )
    assert await seal_old_headers(db, vault) == 1
    assert await seal_old_headers(db, vault) == 0
    kept = await get_endpoint(db, tenants.my_channel, made[0].id)
    assert kept is not None
    assert is_sealed(kept.headers)
    assert endpoints.headers_of(vault, kept) == HEADERS
