"""A template's life: created, reviewed, edited, paused, deleted, with the webhook of each step."""

import json
from typing import Any

import pytest

from .driver import TOKEN, WABA, Driver, Receiver
from .templates import PATH, approved, body, buttons, create, draft, link, made, node, quick, status

DAY = 86_400


def news(receiver: Receiver, field: str = "message_template_status_update") -> list[dict[str, Any]]:
    found = []
    for raw in receiver.bodies:
        [entry] = json.loads(raw)["entry"]
        assert entry["id"] == WABA
        assert isinstance(entry["time"], int)
        found += [change["value"] for change in entry["changes"] if change["field"] == field]
    return found


async def test_an_account_has_two_templates_from_the_start(sandbox: Driver) -> None:
    listed = (await sandbox.call("GET", PATH, token=TOKEN)).json["data"]
    assert [(one["name"], one["language"], one["category"], one["status"]) for one in listed] == [
        ("hello_world", "en_US", "UTILITY", "APPROVED"),
        ("order_update", "en_US", "UTILITY", "APPROVED"),
    ]
    assert set(listed[0]) == {"name", "parameter_format", "components", "language", "status", "category", "id"}


async def test_a_new_template_is_approved_after_a_while(sandbox: Driver, receiver: Receiver) -> None:
    reply = await create(sandbox, draft())
    template_id = reply.json["id"]
    assert reply.json == {"id": template_id, "status": "PENDING", "category": "UTILITY"}
    await sandbox.advance(4.9)
    assert await status(sandbox, template_id) == "PENDING"
    await sandbox.advance(0.1)
    assert await status(sandbox, template_id) == "APPROVED"
    assert news(receiver) == [
        {
            "event": "APPROVED",
            "message_template_id": int(template_id),
            "message_template_name": "parcel",
            "message_template_language": "en_US",
            "reason": "NONE",
            "message_template_category": "UTILITY",
        }
    ]
    assert set(receiver.signatures) == {"good"}


async def test_a_text_that_matches_the_pattern_is_rejected(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"management": {"reject_pattern": "(?i)casino", "review_delay": 1}})
    template_id = await made(sandbox, draft(body("Come to our CASINO tonight")))
    await sandbox.advance(1)
    seen = await node(sandbox, template_id, "status,rejected_reason")
    assert seen == {"id": template_id, "status": "REJECTED", "rejected_reason": "ABUSIVE_CONTENT"}
    assert [(one["event"], one["reason"]) for one in news(receiver)] == [("REJECTED", "ABUSIVE_CONTENT")]


async def test_a_pattern_must_be_one(sandbox: Driver) -> None:
    reply = await sandbox.call("PATCH", "/control/settings", {"management": {"reject_pattern": "("}})
    assert reply.status == 400
    assert "reject_pattern is not a regular expression" in reply.json["error"]


async def test_the_words_of_another_template_are_rejected(sandbox: Driver, receiver: Receiver) -> None:
    await approved(sandbox)
    double = await approved(sandbox, draft(name="other"))
    translation = await approved(sandbox, draft(language="en_GB"))
    assert (await status(sandbox, double), await status(sandbox, translation)) == ("REJECTED", "APPROVED")
    assert "recommendation" in news(receiver)[1]["rejection_info"]


async def test_with_manual_review_a_person_decides(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"management": {"review": "manual"}})
    first, second = await made(sandbox), await made(sandbox, draft(name="other"))
    await sandbox.advance(30 * DAY)
    assert await status(sandbox, first) == "PENDING"
    shown = await sandbox.control("POST", f"templates/{first}/review", {"decision": "approve"})
    assert shown["status"] == "APPROVED"
    verdict = {"decision": "reject", "reason": "PROMOTIONAL"}
    await sandbox.control("POST", f"templates/{second}/review", verdict)
    wrong = await sandbox.call("POST", f"/control/templates/{first}/review", {"decision": "resume"})
    assert (wrong.status, wrong.json) == (
        409,
        {"error": "a template with status APPROVED does not allow the decision resume"},
    )
    assert (await sandbox.call("POST", "/control/templates/1/review", {"decision": "approve"})).status == 404
    await sandbox.advance(0)
    assert [(one["event"], one["reason"]) for one in news(receiver)] == [
        ("APPROVED", "NONE"),
        ("REJECTED", "PROMOTIONAL"),
    ]


async def test_a_manual_decision_before_the_automatic_one_ends_the_review(sandbox: Driver, receiver: Receiver) -> None:
    template_id = await made(sandbox)
    await sandbox.control("POST", f"templates/{template_id}/review", {"decision": "reject"})
    await sandbox.advance(60)
    assert [one["event"] for one in news(receiver)] == ["REJECTED"]


async def test_a_name_and_language_can_be_used_once(sandbox: Driver) -> None:
    await made(sandbox)
    error = (await create(sandbox, draft())).json["error"]
    assert (error["code"], error["error_subcode"]) == (100, 2388024)
    assert (await create(sandbox, draft(language="de"))).status == 200


async def test_an_account_has_so_many_templates_and_no_more(sandbox: Driver) -> None:
    await sandbox.control("PATCH", "settings", {"management": {"templates": 4}})
    for name in ("a", "b"):
        await made(sandbox, draft(name=name))
    error = (await create(sandbox, draft(name="c"))).json["error"]
    assert (error["code"], error["error_subcode"]) == (100, 2388019)


async def test_a_hundred_creations_an_hour(sandbox: Driver) -> None:
    for place in range(100):
        assert (await create(sandbox, draft(name=f"t{place}"))).status == 200
    over = await create(sandbox, draft(name="t100"))
    assert (over.status, over.code) == (429, 80008)
    await sandbox.advance(3599, ordered=False)
    assert (await create(sandbox, draft(name="t100"))).code == 80008
    await sandbox.advance(1)
    assert (await create(sandbox, draft(name="t100"))).status == 200


async def test_lists_are_filtered(sandbox: Driver) -> None:
    await made(sandbox, draft(category="MARKETING", language="de"))

    async def names(query: str) -> list[str]:
        return [one["name"] for one in (await sandbox.call("GET", f"{PATH}?{query}", token=TOKEN)).json["data"]]

    assert await names("status=pending") == ["parcel"]
    assert await names("status=APPROVED,REJECTED") == ["hello_world", "order_update"]
    assert await names("category=MARKETING") == ["parcel"]
    assert await names("language=en_US") == ["hello_world", "order_update"]
    assert await names("name=order") == ["order_update"]
    assert await names("content=parcel") == ["parcel"]
    assert await names("name_or_content=order") == ["order_update"]
    assert await names("quality_score=RED") == []


async def test_lists_come_in_pages_that_survive_deletions(sandbox: Driver) -> None:
    for place in range(3):
        await made(sandbox, draft(name=f"t{place}"))
    page = (await sandbox.call("GET", f"{PATH}?limit=2&fields=name", token=TOKEN)).json
    assert [one["name"] for one in page["data"]] == ["hello_world", "order_update"]
    assert "previous" not in page["paging"]
    for name in ("hello_world", "order_update"):
        await sandbox.call("DELETE", f"{PATH}?name={name}", token=TOKEN)
    following = page["paging"]["next"].removeprefix(sandbox.base)
    page = (await sandbox.call("GET", following, token=TOKEN)).json
    assert [one["name"] for one in page["data"]] == ["t0", "t1"]
    after = page["paging"]["cursors"]["after"]
    page = (await sandbox.call("GET", f"{PATH}?limit=2&after={after}", token=TOKEN)).json
    assert [one["name"] for one in page["data"]] == ["t2"]
    assert "next" not in page["paging"]
    back = page["paging"]["previous"].removeprefix(sandbox.base)
    assert [one["name"] for one in (await sandbox.call("GET", back, token=TOKEN)).json["data"]] == ["t0", "t1"]
    assert (await sandbox.call("GET", f"{PATH}?after=nonsense!", token=TOKEN)).code == 100
    assert (await sandbox.call("GET", f"{PATH}?limit=many", token=TOKEN)).code == 100


async def test_an_edit_is_reviewed_and_reported(sandbox: Driver, receiver: Receiver) -> None:
    template_id = await approved(sandbox, draft(body("Your parcel is here."), buttons(link(), quick())))
    new = [body("Your parcel is still here."), buttons(link())]
    reply = await sandbox.call("POST", f"/{template_id}", {"components": new}, TOKEN)
    assert reply.json == {"success": True, "id": template_id, "name": "parcel", "category": "UTILITY"}
    assert await status(sandbox, template_id) == "PENDING"
    again = (await sandbox.call("POST", f"/{template_id}", {"components": new}, TOKEN)).json["error"]
    assert (again["code"], again["error_subcode"]) == (100, 2388039)
    await sandbox.advance(5)
    assert await status(sandbox, template_id) == "APPROVED"
    [seen] = news(receiver, "message_template_components_update")
    assert seen["message_template_element"] == "Your parcel is still here."
    assert seen["message_template_buttons"][0]["message_template_button_url"] == "https://example.com/"


async def test_an_approved_template_is_edited_once_a_day_and_ten_times_a_month(sandbox: Driver) -> None:
    template_id = await approved(sandbox)

    async def edit(**changes: Any) -> int:
        reply = await sandbox.call("POST", f"/{template_id}", {"components": [body()], **changes}, TOKEN)
        await sandbox.advance(5)
        return reply.status

    assert await edit(category="MARKETING") == 400
    assert (await sandbox.call("POST", f"/{template_id}", {}, TOKEN)).status == 400
    assert await edit() == 200
    assert await edit() == 400
    await sandbox.advance(DAY - 11)
    assert await edit() == 400
    for _ in range(9):
        await sandbox.advance(DAY)
        assert await edit() == 200
    await sandbox.advance(DAY)
    assert await edit() == 400
    await sandbox.advance(19 * DAY)
    assert await edit() == 200


async def test_a_rejected_template_is_edited_at_will(sandbox: Driver) -> None:
    template_id = await approved(sandbox)
    for _ in range(12):
        await sandbox.control("POST", f"templates/{template_id}/review", {"decision": "reject"})
        change = {"components": [body()], "category": "MARKETING"}
        assert (await sandbox.call("POST", f"/{template_id}", change, TOKEN)).status == 200
        await sandbox.advance(5)
    assert (await node(sandbox, template_id))["category"] == "MARKETING"


async def test_a_bad_edit_changes_nothing(sandbox: Driver) -> None:
    template_id = await approved(sandbox)
    reply = await sandbox.call("POST", f"/{template_id}", {"components": [body("x" * 1025)]}, TOKEN)
    assert reply.json["error"]["error_subcode"] == 2388040
    assert await status(sandbox, template_id) == "APPROVED"


async def test_deleting_by_name_takes_all_languages_and_lets_the_name_rest(sandbox: Driver, receiver: Receiver) -> None:
    await approved(sandbox)
    await approved(sandbox, draft(language="de"))
    assert (await sandbox.call("DELETE", f"{PATH}?name=parcel", token=TOKEN)).json == {"success": True}
    assert (await sandbox.call("DELETE", f"{PATH}?name=parcel", token=TOKEN)).code == 100
    assert (await sandbox.call("DELETE", PATH, token=TOKEN)).code == 100
    await sandbox.advance(30 * DAY - 1)
    assert (await create(sandbox, draft(language="fr"))).json["error"]["error_subcode"] == 2388023
    await sandbox.advance(1)
    assert (await create(sandbox, draft())).status == 200
    assert [(one["event"], one["reason"]) for one in news(receiver)][2:] == [("PENDING_DELETION", None)] * 2


async def test_deleting_by_id_takes_one_language(sandbox: Driver) -> None:
    english, german = await approved(sandbox), await approved(sandbox, draft(language="de"))
    assert (await sandbox.call("DELETE", f"{PATH}?name=other&hsm_id={german}", token=TOKEN)).code == 100
    assert (await sandbox.call("DELETE", f"{PATH}?name=parcel&hsm_id={german}", token=TOKEN)).status == 200
    assert await status(sandbox, english) == "APPROVED"
    assert (await sandbox.call("GET", f"/{german}", token=TOKEN)).code == 100
    assert (await create(sandbox, draft(language="de"))).json["error"]["error_subcode"] == 2388023
    assert (await create(sandbox, draft(language="fr"))).status == 200


async def test_the_name_of_a_template_that_was_never_approved_is_free_at_once(sandbox: Driver) -> None:
    await made(sandbox)
    await sandbox.call("DELETE", f"{PATH}?name=parcel", token=TOKEN)
    assert (await create(sandbox, draft())).status == 200


async def test_red_three_times_is_the_end(sandbox: Driver, receiver: Receiver) -> None:
    template_id = await approved(sandbox)
    for hours in (3, 6):
        await sandbox.control("POST", f"templates/{template_id}/quality", {"quality": "RED"})
        assert await status(sandbox, template_id) == "PAUSED"
        await sandbox.advance(hours * 3600 - 1)
        assert await status(sandbox, template_id) == "PAUSED"
        await sandbox.advance(1)
        assert await status(sandbox, template_id) == "APPROVED"
    await sandbox.control("POST", f"templates/{template_id}/quality", {"quality": "RED"})
    await sandbox.advance(30 * DAY)
    assert await status(sandbox, template_id) == "DISABLED"
    seen = [(one["event"], one.get("other_info", {}).get("title")) for one in news(receiver)]
    assert seen == [
        ("APPROVED", None),
        ("PAUSED", "FIRST_PAUSE"),
        ("APPROVED", "UNPAUSE"),
        ("PAUSED", "SECOND_PAUSE"),
        ("APPROVED", "UNPAUSE"),
        ("DISABLED", "DISABLED"),
    ]
    assert isinstance(news(receiver)[-1]["disable_info"]["disable_date"], int)
    scores = news(receiver, "message_template_quality_update")
    assert [(one["previous_quality_score"], one["new_quality_score"]) for one in scores] == [("UNKNOWN", "RED")] * 3
    assert (await sandbox.call("DELETE", f"{PATH}?name=parcel", token=TOKEN)).code == 100
    edit = await sandbox.call("POST", f"/{template_id}", {"components": [body()]}, TOKEN)
    assert edit.json["error"]["error_subcode"] == 2388039


async def test_yellow_pauses_nothing(sandbox: Driver, receiver: Receiver) -> None:
    template_id = await approved(sandbox)
    for quality in ("GREEN", "YELLOW", "YELLOW"):
        await sandbox.control("POST", f"templates/{template_id}/quality", {"quality": quality})
    await sandbox.advance(0)
    assert (await node(sandbox, template_id, "status,quality_score"))["quality_score"]["score"] == "YELLOW"
    assert len(news(receiver, "message_template_quality_update")) == 2
    assert await status(sandbox, template_id) == "APPROVED"


async def test_a_template_paused_by_pacing_is_unpaused_by_the_business(sandbox: Driver) -> None:
    template_id = await approved(sandbox)
    refused = (await sandbox.call("POST", f"/{template_id}/unpause", token=TOKEN)).json
    assert refused["success"] is False
    await sandbox.control("POST", f"templates/{template_id}/review", {"decision": "pace"})
    await sandbox.advance(299)
    assert (await sandbox.call("POST", f"/{template_id}/unpause", token=TOKEN)).json["success"] is False
    await sandbox.advance(1)
    assert (await sandbox.call("POST", f"/{template_id}/unpause", token=TOKEN)).json == {"success": True}
    assert await status(sandbox, template_id) == "APPROVED"


async def test_a_category_changes_with_and_without_a_warning(sandbox: Driver, receiver: Receiver) -> None:
    template_id = await approved(sandbox)
    await sandbox.control("POST", f"templates/{template_id}/category", {"category": "MARKETING", "impending": True})
    assert (await node(sandbox, template_id, "correct_category"))["correct_category"] == "MARKETING"
    await sandbox.control("POST", f"templates/{template_id}/quality", {"quality": "GREEN"})
    await sandbox.advance(DAY - 1)
    assert (await node(sandbox, template_id))["category"] == "UTILITY"
    await sandbox.advance(1)
    assert (await node(sandbox, template_id))["category"] == "MARKETING"
    await sandbox.control("POST", f"templates/{template_id}/category", {"category": "UTILITY"})
    await sandbox.advance(0)
    warned, first, second = news(receiver, "template_category_update")
    assert (warned["new_category"], warned["correct_category"]) == ("UTILITY", "MARKETING")
    assert warned["category_update_timestamp"] > 0
    assert (first["previous_category"], first["new_category"]) == ("UTILITY", "MARKETING")
    assert (second["previous_category"], second["new_category"]) == ("MARKETING", "UTILITY")


async def test_archived_templates_come_back_or_go_after_28_days(sandbox: Driver) -> None:
    kept, lost = await approved(sandbox), await approved(sandbox, draft(body("Something else."), name="other"))
    reply = await sandbox.call("POST", f"{PATH}/archive", {"hsm_ids": f"{kept},{lost},1"}, TOKEN)
    assert (reply.json["archived_templates"], list(reply.json["failed_templates"])) == ([kept, lost], ["1"])
    reply = await sandbox.call("POST", f"{PATH}/unarchive", {"hsm_ids": kept}, TOKEN)
    assert reply.json == {"unarchived_templates": [kept], "failed_templates": {}}
    await sandbox.advance(28 * DAY)
    assert await status(sandbox, kept) == "APPROVED"
    assert (await sandbox.call("GET", f"/{lost}", token=TOKEN)).code == 100
    for many, code in ((100, 200), (101, 400)):
        ids = ",".join(str(place) for place in range(many))
        assert (await sandbox.call("POST", f"{PATH}/archive", {"hsm_ids": ids}, TOKEN)).status == code


async def test_templates_move_to_another_account(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222", token="other", waba_id="77")
    await approved(sandbox)
    reply = await sandbox.call("POST", f"/77/migrate_message_templates?source_waba_id={WABA}", token="other")
    assert (len(reply.json["migrated_templates"]), len(reply.json["failed_templates"])) == (1, 2)
    listed = (await sandbox.call("GET", "/77/message_templates?name=parcel", token="other")).json["data"]
    assert [one["status"] for one in listed] == ["APPROVED"]
    assert (await sandbox.call("GET", f"/{WABA}/message_templates", token="other")).code == 100


@pytest.mark.parametrize(("start", "times"), [(0, 1), (2_000_000_000, 0)])
async def test_comparing_templates_counts_sends(sandbox: Driver, start: int, times: int) -> None:
    listed = (await sandbox.call("GET", PATH, token=TOKEN)).json["data"]
    first, second = (one["id"] for one in listed)
    template = {"name": "hello_world", "language": {"code": "en_US"}}
    payload = {"messaging_product": "whatsapp", "to": "5511999990000", "type": "template", "template": template}
    assert (await sandbox.post(payload)).status == 200
    path = f"/{first}/compare?template_ids={second}&start={start}&end=3000000000"
    metrics = (await sandbox.call("GET", path, token=TOKEN)).json["data"]
    assert metrics[1]["number_values"] == [{"key": first, "value": times}, {"key": second, "value": 0}]
    for wrong in (
        "template_ids=1&start=0&end=1",
        *(f"template_ids={second}&start={n}&end=1" for n in ("²", "9" * 5000)),
    ):
        assert (await sandbox.call("GET", f"/{first}/compare?{wrong}", token=TOKEN)).code == 100
