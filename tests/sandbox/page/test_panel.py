"""The control panel in a browser: what it does to the network, and the curl line that does the same."""

import json
import shlex
import subprocess
from typing import Any, get_args

from playwright.async_api import Request, expect

from gatepost_sandbox.control.templates import FROM
from gatepost_sandbox.faults import Fault
from gatepost_sandbox.settings import CharacterName
from gatepost_sandbox.templates.template import Reason
from tests.patience import PATIENCE
from tests.sandbox.driver import NUMBER, Driver, Receiver
from tests.sandbox.page.viewer import Viewer
from tests.sandbox.templates import made

ANA = "5511999990000"
PARTS = ("faults", "clock", "people", "numbers", "phones", "templates", "ledger", "settings")


async def last_curl(viewer: Viewer) -> str:
    """Return the line of the latest request."""
    return await viewer.page.get_by_role("region", name="What the panel did").locator("pre").first.inner_text()


def run(line: str) -> Any:
    """Run a curl line in a shell; return the JSON of its answer."""
    command = f"{line} --silent --show-error --noproxy '*'"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


async def test_a_fault_is_switched_on_and_off(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.see("No fault is active")
    await viewer.button("The network answers 500 for a minute").click()
    await viewer.see("matched 0, applied 0")
    assert (await sandbox.text()).status == 500
    [rule] = await sandbox.control("GET", "faults")
    assert (rule["fault"], rule["status"], rule["lasts"]) == ("http_error", 500, 60)
    await viewer.button(f"Remove {rule['id']}").click()
    await viewer.see("No fault is active")
    assert (await sandbox.text()).status == 200


async def test_a_fault_goes_away_when_its_time_is_over(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.button("Statuses arrive twice and out of order for a minute").click()
    await viewer.button("Remove all").wait_for()
    assert {rule["fault"] for rule in await sandbox.control("GET", "faults")} == {"duplicate", "reorder"}
    await sandbox.advance(60)
    await viewer.see("No fault is active")


async def test_any_rule_can_be_added_and_a_wrong_one_is_explained(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.page.get_by_text("Any other rule").click()
    await viewer.page.get_by_label("Fault", exact=True).select_option("delay")
    await viewer.page.get_by_label("Person").fill("5511*")
    await viewer.button("Add the rule").click()
    await viewer.page.get_by_role("alert").filter(has_text="delay needs seconds").wait_for()
    await expect(viewer.page.get_by_label("Person")).to_have_value("5511*")
    await viewer.page.get_by_label("Seconds", exact=True).fill("7")
    await viewer.button("Add the rule").click()
    await viewer.see("matched 0, applied 0")
    [rule] = await sandbox.control("GET", "faults")
    assert (rule["fault"], rule["to"], rule["seconds"]) == ("delay", "5511*", 7)


async def test_the_clock_is_moved_frozen_and_let_run(viewer: Viewer, sandbox: Driver) -> None:
    before = (await sandbox.control("GET", "clock"))["now"]
    await viewer.open("#/panel/clock")
    await viewer.button("+1 hour").click()
    await viewer.see("done")
    assert (await sandbox.control("GET", "clock"))["now"] == before + 3600
    await viewer.page.get_by_label("Seconds").fill("1.5")
    await viewer.button("Move").click()
    await expect(viewer.page.get_by_label("Seconds")).to_have_value("")
    assert (await sandbox.control("GET", "clock"))["now"] == before + 3601.5
    await viewer.button("Let it run").click()
    await viewer.button("Freeze").wait_for()
    assert not (await sandbox.control("GET", "clock"))["frozen"]
    await sandbox.control("POST", "clock", {"frozen": True})
    await viewer.button("Let it run").wait_for()  # the feed reports it


async def test_a_template_is_approved_and_another_rejected_with_a_reason(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/templates")
    await viewer.button("Let me review them").click()
    await viewer.see("New templates wait here")
    await made(sandbox)
    card = viewer.page.locator(".card", has=viewer.page.get_by_role("heading", name="parcel"))
    await card.get_by_role("button", name="Approve").click()
    await card.get_by_text("APPROVED").wait_for()
    await card.get_by_role("button", name="Reject…").click()
    await card.get_by_label("Reason").select_option("SCAM")
    await card.get_by_role("button", name="Reject", exact=True).click()
    await card.get_by_text("REJECTED").wait_for()
    [template] = [one for one in await sandbox.control("GET", "templates") if one["name"] == "parcel"]
    assert (template["status"], template["rejected_reason"]) == ("REJECTED", "SCAM")


async def test_a_person_is_created_from_the_empty_state_and_answers(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/people")
    await viewer.see("There are no people yet")
    await viewer.page.get_by_label("Name").fill("Ana's phone")
    await viewer.button("Create the person").click()
    await viewer.page.get_by_role("alert").filter(has_text="phone number").wait_for()
    await viewer.page.get_by_label("Phone number").fill("123")
    await viewer.button("Create the person").click()
    await viewer.page.get_by_role("alert").filter(has_text="phone").wait_for()
    await viewer.page.get_by_label("Phone number").fill("+55 (11) 99999-0000")
    await viewer.page.get_by_label("Character").select_option("quick")
    await viewer.page.get_by_label("Reads messages").select_option("when_open")
    await viewer.button("Add a line").click()
    await viewer.page.get_by_label("When the text matches").fill("(?i)order")
    await viewer.page.get_by_label("Text ({text} is what was received)").fill("You wrote: {text}")
    await viewer.button("Create the person").click()
    await viewer.page.get_by_role("heading", name="Ana's phone").wait_for()
    [person] = await sandbox.control("GET", "people")
    assert (person["name"], person["phone"], person["character"]) == ("Ana's phone", ANA, "quick")
    assert person["reads"] == "when_open"
    assert [(line["pattern"], line["text"]) for line in person["replies"]] == [("(?i)order", "You wrote: {text}")]


async def test_a_person_is_changed_and_what_the_form_does_not_show_stays(viewer: Viewer, sandbox: Driver) -> None:
    whole = {"name": "Ana", "username": "ana", "user_id": "BR.1", "replies": [{"order": {"quantity": 2}}, {"tap": 0}]}
    before = await sandbox.control("PUT", f"people/{ANA}", whole)
    await viewer.open("#/panel/people")
    await viewer.button("Change").click()
    await viewer.page.get_by_label("Character").select_option("silent")
    await viewer.page.get_by_label("Edit as JSON").check()
    await expect(viewer.page.get_by_label("Replies as JSON")).to_have_value(json.dumps(whole["replies"], indent=2))
    await viewer.page.get_by_label("Replies as JSON").fill("[{")
    await viewer.button("Save").click()
    await viewer.page.get_by_role("alert").filter(has_text="The script is not JSON").wait_for()
    await viewer.page.get_by_label("Replies as JSON").fill('[{"react": "x"}]')
    await viewer.button("Save").click()
    await viewer.button("Change").wait_for()
    after = await sandbox.control("GET", f"people/{ANA}")
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"character", "replies"}
    assert [line["react"] for line in after["replies"]] == ["x"]


async def test_a_number_is_registered_rated_and_deleted(viewer: Viewer, empty: Driver, receiver: Receiver) -> None:
    await viewer.open("#/panel/numbers")
    await viewer.see("There is no number yet")
    for label, value in {
        "Phone number id": NUMBER,
        "Phone number": "+1 555 078 3881",
        "Display name": "Acme",
        "Access token": "secret-token",
        "App secret": "app-secret",
        "Callback URL": receiver.url,
        "Verify token": "wrong",
    }.items():
        await viewer.page.get_by_label(label, exact=True).fill(value)
    await viewer.button("Register the number").click()
    await viewer.page.get_by_role("alert").filter(has_text="verification failed").wait_for()
    await viewer.page.get_by_label("Verify token").fill("verify-me")
    await viewer.button("Register the number").click()
    await viewer.page.get_by_role("heading", name="Acme").wait_for()
    await viewer.page.get_by_label("Quality").select_option("RED")
    await viewer.button("Set quality").click()
    await viewer.see("quality RED")
    await viewer.page.get_by_label("Tier").select_option("10000")
    await viewer.button("Set tier").click()
    await viewer.see("10000 people a day")
    [number] = await empty.control("GET", "numbers")
    assert (number["quality_rating"], number["effective"]["limits"]["tier"]) == ("RED", 10_000)
    await viewer.button("Delete").click()
    await viewer.button("Delete Acme?").click()
    await viewer.see("There is no number yet")


async def test_the_ledger_shows_each_request_with_its_answer_as_it_happens(viewer: Viewer, sandbox: Driver) -> None:
    await sandbox.text(body="before")
    await viewer.open("#/panel/ledger")
    await viewer.see("text · before")
    await sandbox.text(body="<img src=x onerror=alert(1)>")
    await viewer.see("text · <img src=x onerror=alert(1)>")
    await sandbox.control("POST", "faults", {"fault": "refuse", "code": 131016})
    await sandbox.text("5511999991111")
    await viewer.see("HTTP 500 · code 131016")
    rows = viewer.page.locator(".ledger > li")
    await viewer.page.get_by_label("Kind").select_option("refused")
    await expect(rows).to_have_count(1)
    await viewer.page.get_by_label("Person").fill(ANA)
    await viewer.see("Nothing matches")
    await viewer.page.get_by_label("Person").fill("+55 11 99999-1111")
    await rows.locator("summary").click()
    await expect(rows.locator("pre")).to_contain_text('"http_status": 500')
    await viewer.page.get_by_label("Kind").select_option("")
    await viewer.page.get_by_label("Person").fill("")
    await sandbox.control("POST", "reset", {"keep_numbers": True})
    await viewer.see("Nothing has happened yet")
    await sandbox.text(body="after the reset")
    await expect(rows).to_contain_text("after the reset")


async def test_limits_are_switched_on(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/settings")
    await viewer.page.get_by_label("24-hour window").select_option("sync")
    await viewer.page.get_by_label("Messages per second").fill("lots")
    await viewer.button("Save").click()
    await viewer.page.get_by_role("alert").filter(has_text="must be a number").wait_for()
    await viewer.page.get_by_label("Messages per second").fill("5")
    await viewer.page.get_by_label("Marketing per person").fill("2")
    await viewer.button("Save").click()
    await viewer.see("done")
    assert (await sandbox.text()).code == 131047
    limits = (await sandbox.control("GET", "settings"))["limits"]
    assert (limits["throughput"], limits["marketing"]) == (5, 2)


async def test_the_curl_line_is_what_was_sent(viewer: Viewer, sandbox: Driver) -> None:
    sent: list[tuple[str, str, str | None]] = []

    def note(request: Request) -> None:
        if request.method != "GET":
            sent.append((request.method, request.url, request.post_data))

    viewer.page.on("request", note)
    await sandbox.control("PUT", f"people/{ANA}", {"name": 'It\'s "Ana" $HOME `id` \\ 🎉'})
    await viewer.open("#/panel/people")
    await viewer.button("Change").click()
    await viewer.page.get_by_label("Character").select_option("slow")
    await viewer.page.get_by_text("As a curl line", exact=True).click()
    before = await viewer.page.locator(".preview pre").inner_text()
    await viewer.button("Save").click()
    await viewer.button("Change").wait_for()
    line = await last_curl(viewer)
    assert line == before
    words = shlex.split(line)
    assert sent == [(words[2], words[3], words[-1])]
    changed = await sandbox.control("GET", f"people/{ANA}")
    await sandbox.control("DELETE", f"people/{ANA}")
    run(line)
    assert await sandbox.control("GET", f"people/{ANA}") == changed


async def test_the_curl_line_of_a_button_does_the_same(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.button("Answers get lost for a minute").click()
    await viewer.button("Remove all").wait_for()
    line = await last_curl(viewer)
    [first] = await sandbox.control("GET", "faults")
    second = run(line)
    assert {**first, "id": ""} == {**second, "id": ""}
    await viewer.button(f"Remove {second['id']}").wait_for()  # the feed reports it
    await viewer.button("Remove all").click()
    await viewer.see("No fault is active")
    assert run(await last_curl(viewer)) == {"removed": 0}


async def test_every_part_is_accessible_and_fits_a_small_screen(viewer: Viewer, empty: Driver) -> None:
    for part in PARTS:
        await viewer.open(f"#/panel/{part}")
        await expect(viewer.page.get_by_text("Loading…")).to_have_count(0)
        assert await viewer.accessibility_problems(f"empty {part}") == []
    await empty.register()
    await made(empty)
    await empty.control("PUT", f"people/{ANA}", {"name": "A" * 80, "replies": [{"text": "a"}, {"order": {}}]})
    await empty.control("POST", "phones", {"phone": "15550002222"})
    await empty.control("POST", "faults", {"fault": "delay", "seconds": 5, "lasts": 60})
    await empty.text(body="B" * 300)
    for part in PARTS:
        await viewer.open(f"#/panel/{part}")
        await expect(viewer.page.get_by_text("Loading…")).to_have_count(0)
        for opened in ("Change", "Reject…"):
            if await viewer.button(opened).count():
                await viewer.button(opened).first.click()
        for more in await viewer.page.locator("details > summary").all():
            await more.click()
        assert await viewer.accessibility_problems(f"filled {part}") == []


async def test_another_color_scheme_is_applied_at_once_with_reduced_motion(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.button("Answers get lost for a minute").wait_for()
    await viewer.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    moving = "getComputedStyle(document.body).color, document.getAnimations().length"
    assert await viewer.page.evaluate(moving) == 0


async def test_the_panel_is_used_by_keyboard(viewer: Viewer, sandbox: Driver) -> None:
    await viewer.open("#/panel/faults")
    await viewer.button("Answers get lost for a minute").wait_for()
    focused = "document.activeElement.textContent"
    for _ in range(60):
        await viewer.page.keyboard.press("Tab")
        if await viewer.page.evaluate(focused) == "Answers get lost for a minute":
            break
    await viewer.page.keyboard.press("Enter")
    await viewer.button("Remove all").wait_for()
    assert [rule["fault"] for rule in await sandbox.control("GET", "faults")] == ["accept_drop"]


async def test_the_panel_offers_what_the_network_knows(viewer: Viewer, sandbox: Driver) -> None:
    """Every fault, character, decision and reason of the control API."""

    async def options(label: str) -> set[str]:
        found = viewer.page.get_by_label(label, exact=True).first.locator("option")
        return set(await found.evaluate_all("all => all.map((one) => one.value)"))

    await viewer.open("#/panel/faults")
    await viewer.page.get_by_text("Any other rule").click()
    assert await options("Fault") == set(get_args(Fault))
    await viewer.open("#/panel/people")
    await viewer.see("There are no people yet")
    assert await options("Character") == set(get_args(CharacterName))
    await viewer.open("#/panel/templates")
    await viewer.button("Reject…").first.click()
    assert await options("Reason") == set(get_args(Reason))
    buttons = {name.lower() for name in await viewer.page.get_by_role("button").all_inner_texts()}
    assert {decision for decision, statuses in FROM.items() if "APPROVED" in statuses and decision != "pace"} <= buttons
