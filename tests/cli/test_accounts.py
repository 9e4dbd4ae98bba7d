"""`gatepost account`, `user` and `plan`."""

import asyncio
from uuid import UUID

import asyncpg

from tests.cli.conftest import Run, invoke

NOBODY = "acc_" + "0" * 32


def test_the_life_of_an_account(run: Run) -> None:
    made = run("account", "create", "Loja São João", "--plan", "professional", "--json").json()
    assert list(made) == ["id", "name", "plan", "suspended", "trial_ends_at", "addons", "created_at"]
    assert (made["name"], made["plan"], made["suspended"], made["addons"]) == (
        "Loja São João",
        "professional",
        False,
        [],
    )
    assert run("account", "list", "--json").json() == [made]
    assert run("account", "show", made["id"], "--json").json() == made
    assert run("account", "plan", made["id"], "starter", "--json").json()["plan"] == "starter"
    assert run("account", "suspend", made["id"], "--json").json()["suspended"] is True
    assert run("account", "resume", made["id"], "--json").json()["suspended"] is False
    assert run("account", "trial", made["id"], "--days", "7", "--json").json()["trial_ends_at"] > made["trial_ends_at"]
    assert run("account", "addon", "add", made["id"], "api access", "--json").json()["addons"] == ["API Access"]
    assert run("account", "addon", "remove", made["id"], "API Access", "--json").json()["addons"] == []
    used = run("account", "usage", made["id"], "--json").json()
    assert (used["used"], used["limit"], used["remaining"]) == (0, 12_000, 12_000)


async def add_usage(database_url: str, account: str, used: int) -> None:
    conn = await asyncpg.connect(database_url)
    month = "date_trunc('month', now() AT TIME ZONE 'UTC')::date"
    account_id = UUID(account.removeprefix("acc_"))
    for when, count in ((month, used), (f"({month} - interval '1 month')::date", 5)):
        await conn.execute(
            f"INSERT INTO account_usage (account_id, month, used) VALUES ($1, {when}, $2)", account_id, count
        )
    await conn.close()


def test_usage_is_of_one_account_and_one_month(run: Run, account: str, database_url: str) -> None:
    other = run("account", "create", "Other", "--json").json()["id"]
    asyncio.run(add_usage(database_url, account, 11_999))
    used = run("account", "usage", account, "--json").json()
    assert (used["account"], used["plan"], used["used"], used["remaining"]) == (account, "starter", 11_999, 1)
    run("account", "plan", account, "unlimited")
    used = run("account", "usage", account, "--json").json()
    assert (used["plan"], used["used"], used["limit"], used["remaining"]) == ("unlimited", 11_999, None, None)
    assert run("account", "usage", other, "--json").json()["used"] == 0


def test_people_get_text(run: Run) -> None:
    assert run("account", "list").out == "There are none yet.\n"
    made = run("account", "create", "[red]Shop[/red]")
    assert "[red]Shop[/red]" in made.out
    assert "Next: gatepost channel create acc_" in made.out
    listed = run("account", "list").out
    id_ = made.out.split()[1]
    assert id_ in listed
    assert "[red]Shop[/red]" in listed


def test_refusals_are_printed_to_stderr(run: Run) -> None:
    for arguments, code, words in (
        (["account", "show", NOBODY], "not_found", f"There is no account {NOBODY}."),
        (["account", "show", "12"], "invalid_field", "ids look like acc_"),
        (["account", "create", "Shop", "--plan", "gold"], "invalid_field", "starter, professional, unlimited"),
    ):
        seen = run(*arguments, "--json").error()
        assert seen["code"] == code
        assert words in seen["message"]
        ran = run(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("Error: ")
        assert ran.err.count("\n") == 1
        assert words in ran.err


def test_users_by_address_and_by_id(run: Run, account: str) -> None:
    made = run("user", "create", account, "ana@example.com", "--json").json()
    assert len(made["password"]) >= 20
    listed = run("user", "list", account, "--json").json()
    assert [(one["id"], one["email"], one["role"]) for one in listed] == [(made["id"], "ana@example.com", "owner")]
    assert "password" not in listed[0]
    again = run("user", "create", account, "ANA@example.com", "--json").error()
    assert (again["code"], again["fields"][0]["field"]) == ("wrong_state", "email")
    chosen = run("user", "password", "Ana@Example.com", "--password", "correct horse", "--json").json()
    assert chosen["password"] == "correct horse"
    assert run("user", "password", made["id"], "--password", "short", "--json").error()["code"] == "invalid_field"
    assert run("user", "delete", made["id"], "--json").json()["deleted"] is True
    assert run("user", "delete", "ana@example.com", "--json").error()["code"] == "not_found"


def test_plans_need_no_database() -> None:
    plans = invoke("plan", "list", "--json").json()
    limits = {"messages_per_month": 12_000, "storage_bytes": 2 << 30, "channels": 10}
    assert plans[0] == {"id": "starter", "title": "Starter", **limits}
    assert plans[2]["messages_per_month"] is None
    assert "200,000" in invoke("plan", "list").out
