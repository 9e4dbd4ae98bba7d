"""`gatepost sandbox …`: directing a sandbox that runs, and what is said when none does."""

import socket
from collections.abc import Callable, Iterator

import pytest

from gatepost.cli.http_call import call
from gatepost_sandbox import SandboxSettings
from tests.cli.conftest import Ran, invoke
from tests.for_each import for_each
from tests.sandbox.conftest import running
from tests.sandbox.driver import START

Direct = Callable[..., Ran]
ANA = "5511999990000"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(SandboxSettings(seed=7, start=START, frozen=True)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def direct(url: str) -> Direct:
    """Return a function that runs commands against a sandbox that was reset."""
    call(f"{url}/control/reset", {})
    return lambda *arguments: invoke("sandbox", *arguments, "--url", url)


def add_number(direct: Direct, id_: str = "100", *more: str) -> Ran:
    secrets = ("--token", "t0k", "--app-secret", "s3c")
    return direct("number", "add", id_, "--phone", "15550001111", *secrets, *more, "--json")


def send(url: str, text: str, to: str = ANA) -> None:
    body = {"messaging_product": "whatsapp", "to": to, "type": "text", "text": {"body": text}}
    call(f"{url}/v25.0/100/messages", body, {"Authorization": "Bearer t0k"})


def test_numbers(direct: Direct) -> None:
    assert "number add" in direct("number", "list").out
    made = add_number(direct, "100", "--name", "Shop").json()
    assert (made["phone_number_id"], made["name"], made["token"]) == ("100", "Shop", "t0k")
    assert [one["phone_number_id"] for one in direct("number", "list", "--json").json()] == ["100"]
    assert "15550001111" in direct("number", "list").out


def test_a_callback_that_does_not_answer_is_reported(direct: Direct) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    seen = add_number(direct, "100", "--callback-url", f"http://127.0.0.1:{free}/").error()
    assert seen["message"].startswith("The sandbox refused: callback verification failed")
    assert add_number(direct, "100", "--callback-url", f"http://127.0.0.1:{free}/", "--no-verify").code == 0


def test_a_person_is_set_step_by_step(direct: Direct) -> None:
    assert "default character" in direct("person", "list").out
    made = direct("person", "set", ANA, "--character", "quick", "--reply", "Thanks", "--json").json()
    assert (made["character"], made["replies"][0]["text"]) == ("quick", "Thanks")
    renamed = direct("person", "set", ANA, "--name", "Ana", "--json").json()
    assert renamed == {**made, "name": "Ana"}
    scripted = direct("person", "set", ANA, "--script", '[{"pattern": "yes", "react": "👍"}]', "--json").json()
    assert (scripted["name"], scripted["replies"][0]["react"], len(scripted["replies"])) == ("Ana", "👍", 1)
    assert "1 lines" in direct("person", "list").out
    assert direct("person", "forget", ANA, "--json").json() == {"phone": ANA, "forgotten": True}
    assert direct("person", "forget", ANA, "--json").error()["code"] == "not_found"


@pytest.mark.parametrize("script", ["{", "{}", '[{"text": "a", "react": "b"}]', '[{"pattern": "(", "text": "a"}]'])
def test_a_script_that_cannot_be(direct: Direct, script: str) -> None:
    assert direct("person", "set", ANA, "--script", script, "--json").error()["code"] == "invalid_field"
    assert direct("person", "list", "--json").json() == []


def test_say_goes_to_the_only_number_or_the_named_one(direct: Direct) -> None:
    assert "There is no number yet" in direct("say", ANA, "Hi").err
    add_number(direct)
    said = direct("say", ANA, "Hi", "--name", "Ana", "--json").json()
    [row] = direct("ledger", "--kind", "incoming", "--json").json()
    assert (row["wamid"], row["from"], row["content"]) == (said["wamid"], ANA, {"body": "Hi"})
    add_number(direct, "200")
    assert "several numbers: 100, 200" in direct("say", ANA, "Hi", "--json").error()["message"]
    assert direct("say", ANA, "Hi", "--number", "200", "--reply-to", said["wamid"]).code == 0
    assert direct("say", ANA, "Hi", "--number", "+15550001111").code == 0
    assert direct("ledger", "--kind", "incoming", "--json").json()[-1]["phone_number_id"] == "100"
    assert direct("say", ANA, "Hi", "--number", "300", "--json").error()["code"] == "not_found"


def test_say_reaches_a_qr_phone(direct: Direct, url: str) -> None:
    call(f"{url}/control/phones", {"phone": "15550002222"})
    assert direct("say", ANA, "Hi", "--json").json()["id"]
    assert direct("ledger", "--number", "15550002222", "--json").json()[0]["content"] == {"body": "Hi"}
    assert direct("phone", "list", "--json").json()[0]["phone"] == "15550002222"
    assert "No session shows a code" in direct("phone", "scan", "15550002222").err
    assert direct("phone", "scan", "15550002222", "--session", "x", "--json").error()["code"] == "wrong_state"


def test_faults_are_added_listed_and_removed(direct: Direct, url: str) -> None:
    add_number(direct)
    assert "There are no fault rules" in direct("fault", "list").out
    rule = direct("fault", "add", "refuse", "--code", "130429", "--to", "55*", "--nth", "2", "--json").json()
    assert (rule["id"], rule["code"], rule["to"], rule["nth"]) == ("f1", 130429, "55*", 2)
    send(url, "one")
    with pytest.raises(OSError, match="130429"):
        send(url, "two")
    [struck] = direct("fault", "list", "--json").json()
    assert (struck["seen"], struck["struck"]) == (2, 1)
    assert " 130429 " in direct("fault", "list").out
    assert "130429: " in direct("ledger", "--kind", "refused").out
    assert direct("fault", "remove", "f1", "--json").json() == {"id": "f1", "removed": True}
    assert direct("fault", "remove", "f1", "--json").error()["code"] == "not_found"
    labelled = direct(
        "fault", "add", "duplicate", "--label", "sent", "--label", "read", "--copies", "3", "--json"
    ).json()
    assert (labelled["labels"], labelled["copies"]) == (["sent", "read"], 3)
    assert direct("fault", "remove", "--all", "--json").json() == {"removed": 1}


@pytest.mark.parametrize("arguments", [("add", "refuse"), ("add", "sulk"), ("remove",), ("remove", "f1", "--all")])
def test_faults_that_cannot_be(direct: Direct, arguments: tuple[str, ...]) -> None:
    assert direct("fault", *arguments, "--json").error()["code"] == "invalid_field"


def test_the_clock_moves_and_messages_are_read(direct: Direct, url: str) -> None:
    add_number(direct)
    shown = direct("clock", "show", "--json").json()
    assert (shown["time"], shown["now"], shown["frozen"]) == ("2023-11-14T22:13:20.000Z", START, True)
    send(url, "Hello")
    assert direct("clock", "show", "--json").json()["waiting"] > 0
    moved = direct("clock", "advance", "1h", "--json").json()
    assert moved["now"] == START + 3600
    assert moved["fired"] >= 3
    assert direct("clock", "resume", "--speed", "60", "--json").json()["frozen"] is False
    assert direct("clock", "freeze", "--json").json()["frozen"] is True
    assert direct("clock", "advance", "soon", "--json").error()["code"] == "invalid_field"


def test_the_ledger_in_pages_and_for_people(direct: Direct, url: str) -> None:
    assert direct("ledger").out == "Nothing has happened yet.\n"
    add_number(direct)
    for text in ("one", "two", "three"):
        send(url, text)
    rows = direct("ledger", "--json").json()
    assert [row["content"]["body"] for row in rows] == ["one", "two", "three"]
    assert direct("ledger", "--after", str(rows[0]["seq"]), "--limit", "1", "--json").json() == rows[1:2]
    assert direct("ledger", "--to", "15550009999", "--json").json() == []
    assert "text: three" in direct("ledger").out
    assert direct("ledger", "--kind", "dreams", "--json").error()["code"] == "invalid_field"


EACH = [
    ("number", "list"),
    ("phone", "list"),
    ("person", "list"),
    ("say", ANA, "Hi"),
    ("fault", "list"),
    ("clock", "show"),
    ("ledger",),
]


@for_each("arguments", EACH)
def test_a_sandbox_that_is_not_running_is_one_clear_line(arguments: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ran = invoke("sandbox", *arguments, "--url", url)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: There is no sandbox at {url} (")
    assert ran.err.endswith("Start one with: gatepost sandbox; or give its address with --url.\n")
    assert ran.err.count("\n") == 1
    assert invoke("sandbox", *arguments, "--url", url, "--json").error()["code"] == "system_error"


def test_the_address_may_come_from_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEPOST_SANDBOX_URL", f"{url}/")
    assert invoke("sandbox", "clock", "show", "--json").json()["frozen"] is True
