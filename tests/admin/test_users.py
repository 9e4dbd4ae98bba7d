"""Users: addresses, passwords, sign-in, and whose they are."""

import uuid

import pytest

from gatepost.admin import passwords, users
from gatepost.model import ids
from gatepost.model.errors import Conflict, Invalid, NotFound
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants, check_sign_in
from tests.for_each import for_each


@pytest.fixture
def email() -> str:
    """Return an address that no user has yet."""
    return f"ana-{uuid.uuid4().hex}@example.com"


async def test_a_generated_password_works(db: Database, tenants: Tenants, email: str) -> None:
    made = await users.create_user(db, tenants.mine, email.title(), now=NOW)
    assert len(made.password) >= 20
    assert made.password not in made.user.password_hash
    assert made.user.password_hash.startswith("$argon2id$")
    assert await check_sign_in(db, email.upper(), made.password) == made.user
    assert await check_sign_in(db, email, made.password + "x") is None
    assert await check_sign_in(db, "nobody@example.com", made.password) is None


async def test_an_address_belongs_to_one_user_anywhere(db: Database, tenants: Tenants, email: str) -> None:
    await users.create_user(db, tenants.mine, email, now=NOW)
    for account in (tenants.mine, tenants.theirs):
        with pytest.raises(Conflict) as caught:
            await users.create_user(db, account, email.upper(), now=NOW)
        assert caught.value.fields[0].field == "email"


@for_each("email", ["", "ana", "@example.com", "ana@", "a b@example.com", "a@b@c", "ana@example..com"])
def test_invalid_addresses(email: str) -> None:
    with pytest.raises(Invalid, match="email"):
        users.check_email(email)


def test_the_longest_address() -> None:
    longest = "a" * (254 - len("@example.com")) + "@example.com"
    assert users.check_email(longest) == longest
    with pytest.raises(Invalid):
        users.check_email("a" + longest)


def test_the_length_of_passwords() -> None:
    assert passwords.check_password("x" * 10) == "x" * 10
    assert passwords.check_password("x" * 200) == "x" * 200
    for password in ("x" * 9, "x" * 201, "x" * 9 + "\ud800", "x" * 9 + "\x00"):
        with pytest.raises(Invalid, match="password"):
            passwords.check_password(password)


async def test_only_known_roles(db: Database, tenants: Tenants, email: str) -> None:
    with pytest.raises(Invalid, match="owner, agent, reader"):
        await users.create_user(db, tenants.mine, email, role="king", now=NOW)


async def test_a_password_is_changed(db: Database, tenants: Tenants, email: str) -> None:
    old = await users.create_user(db, tenants.mine, email, password="correct horse", now=NOW)
    new = await users.change_password(db, tenants.mine, old.user.id, "battery staple", now=NOW)
    assert new.password == "battery staple"
    assert await check_sign_in(db, email, "battery staple") == new.user


async def test_users_of_another_account_are_not_found(db: Database, tenants: Tenants, email: str) -> None:
    made = await users.create_user(db, tenants.theirs, email, password="correct horse", now=NOW)
    calls = [
        users.get_user(db, tenants.mine, made.user.id),
        users.change_password(db, tenants.mine, made.user.id, "battery staple", now=NOW),
        users.delete_user(db, tenants.mine, made.user.id, now=NOW),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    assert await users.list_users(db, tenants.mine) == []
    assert await check_sign_in(db, email, "correct horse") == made.user
    await users.delete_user(db, tenants.theirs, made.user.id, now=NOW)
    assert await users.list_users(db, tenants.theirs) == []


async def test_an_unknown_account_has_no_users(db: Database, email: str) -> None:
    unknown = ids.new_id(NOW)
    with pytest.raises(NotFound):
        await users.create_user(db, unknown, email, now=NOW)
    with pytest.raises(NotFound):
        await users.list_users(db, unknown)
