"""`gatepost user`: roles, links, two-factor authentication and sessions."""

import asyncio
from datetime import timedelta

from gatepost.admin.sign_in import Visit, begin_session
from gatepost.clock import SystemClock
from gatepost.store.account_log import list_entries
from gatepost.store.pool import Database
from gatepost.store.users import get_user_by_email
from tests.cli.conftest import Run

EMAIL = "ana@example.com"


def test_roles(run: Run, account: str) -> None:
    made = run("user", "create", account, EMAIL, "--role", "agent", "--name", "Ana", "--json").json()
    assert (made["role"], made["name"], made["two_factor"]) == ("agent", "Ana", False)
    assert run("user", "role", EMAIL, "reader", "--json").json()["role"] == "reader"
    assert run("user", "list", account, "--json").json()[0]["role"] == "reader"
    for arguments in (["create", account, "bo@example.com", "--role", "member"], ["role", EMAIL, "king"]):
        assert "owner, agent, reader" in run("user", *arguments, "--json").error()["message"]


def test_a_reset_link(run: Run, account: str) -> None:
    run("user", "create", account, EMAIL)
    made = run("user", "reset", EMAIL, "--json").json()
    assert (made["email"], made["purpose"]) == (EMAIL, "password_reset")
    assert made["link"].startswith("http://127.0.0.1:8080/link/")
    assert len(made["link"].rpartition("/")[2]) == 43
    text = run("user", "reset", EMAIL).out
    assert "shown this once" in text
    assert made["link"] not in text
    assert run("user", "reset", "nobody@example.com", "--json").error()["code"] == "not_found"


def test_two_factor_authentication_that_is_off(run: Run, account: str) -> None:
    run("user", "create", account, EMAIL)
    assert run("user", "totp-off", EMAIL, "--json").error()["code"] == "wrong_state"


def test_sessions(run: Run, account: str, database_url: str) -> None:
    run("user", "create", account, EMAIL)
    assert run("user", "sessions", EMAIL, "--json").json() == []
    asyncio.run(sign_in_twice(database_url))
    (session,) = run("user", "sessions", EMAIL, "--json").json()
    assert (session["address"], session["user_agent"]) == ("192.0.2.1", "browser")
    assert run("user", "sessions", EMAIL, "--end", "--json").json()["ended"] == 2
    assert run("user", "sessions", EMAIL, "--json").json() == []
    assert asyncio.run(last_action(database_url)) == ("signed_out_everywhere", "operator")


async def sign_in_twice(database_url: str) -> None:
    """Begin a session now, and one so long ago that it has ended."""
    db = await Database.connect(database_url, connections=1)
    user = await get_user_by_email(db, EMAIL)
    assert user is not None
    now = SystemClock().now()
    for at in (now, now - timedelta(hours=13)):
        await begin_session(db, user, Visit("192.0.2.1", "browser"), at)
    await db.close()


async def last_action(database_url: str) -> tuple[str, str]:
    db = await Database.connect(database_url, connections=1)
    user = await get_user_by_email(db, EMAIL)
    assert user is not None
    (entry,) = await list_entries(db, user.account_id, before=None, limit=1)
    await db.close()
    return entry.action, entry.actor.kind
