"""pywa creates, lists, edits, pauses and deletes templates, and hears what is decided about them."""

from queue import Queue
from typing import Any

import pytest
from pywa import handlers
from pywa.errors import WhatsAppError
from pywa.types import templates as t
from pywa.types.others import Pagination

from tests.patience import PATIENCE

from .stage import PERSON, Stage

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)


def parcel(**changes: Any) -> t.Template:
    seen: dict[str, Any] = {
        "name": "parcel",
        "language": t.TemplateLanguage.ENGLISH_US,
        "category": t.TemplateCategory.UTILITY,
        "parameter_format": t.ParamFormat.NAMED,
        "components": [
            t.HeaderText("News about {{order}}", order="4711"),
            t.BodyText("Dear {{name}}, your parcel is on its way to you.", name="Ana"),
            t.FooterText(text="Bye"),
            t.Buttons(
                buttons=[
                    t.QuickReplyButton(text="Thanks"),
                    t.URLButton(text="Track", url="https://example.com/{{1}}", example="https://example.com/a"),
                ]
            ),
        ],
    }
    return t.Template(**seen | changes)


def plain(text: str, **changes: Any) -> t.Template:
    return parcel(components=[t.BodyText(text)], parameter_format=None, **changes)


def listen(stage: Stage, *kinds: Any) -> Queue[Any]:
    received: Queue[Any] = Queue()
    stage.wa.add_handlers(*(kind(lambda _, update: received.put(update)) for kind in kinds))
    return received


def test_a_template_from_creation_to_the_phone(stage: Stage) -> None:
    received = listen(stage, handlers.TemplateStatusUpdateHandler)
    template = parcel()
    made = stage.wa.create_template(template)
    assert (made.status, made.category) == (t.TemplateStatus.PENDING, t.TemplateCategory.UTILITY)
    stage.advance(5)
    seen = received.get(timeout=PATIENCE)
    assert (seen.template_id, seen.new_status, seen.template_name) == (made.id, t.TemplateStatus.APPROVED, "parcel")
    details = made.get()
    assert (details.status, details.parameter_format) == (t.TemplateStatus.APPROVED, t.ParamFormat.NAMED)
    sent = details.send(
        PERSON,
        [
            t.HeaderText.params(order="17"),
            t.BodyText.params(name="Eva"),
            t.QuickReplyButton.params(callback_data="thanks", index=0),
            t.URLButton.params(url_variable="17", index=1),
        ],
    )
    assert sent.id == stage.accepted()[0]["wamid"]


def test_pywa_waits_for_the_approval(stage: Stage) -> None:
    stage.control("PATCH", "settings", {"management": {"review_delay": 1}})
    made = stage.wa.create_template(parcel())
    stage.control("POST", "clock", {"frozen": False, "speed": 10})
    assert made.wait_until_approved(timeout=PATIENCE).new_status == t.TemplateStatus.APPROVED


def test_a_header_with_a_picture_is_uploaded_in_pieces(stage: Stage) -> None:
    made = stage.wa.create_template(parcel(components=[t.HeaderImage(example=PNG), t.BodyText("Look at this.")]))
    header, _ = made.get().components
    assert isinstance(header, t.HeaderImage)


def test_one_time_codes(stage: Stage) -> None:
    made = stage.wa.upsert_authentication_template(
        name="code",
        languages=[t.TemplateLanguage.ENGLISH_US, t.TemplateLanguage.GERMAN],
        otp_button=t.CopyCodeOTPButton(text="Copy"),
        add_security_recommendation=True,
        code_expiration_minutes=5,
    )
    assert [one.category for one in made] == [t.TemplateCategory.AUTHENTICATION] * 2
    stage.advance(5)
    body, footer, _ = made[0].get().components
    assert isinstance(body, t.AuthenticationBody)
    assert isinstance(footer, t.AuthenticationFooter)
    params = [t.AuthenticationBody.params(otp="123456"), t.CopyCodeOTPButton.params(otp="123456")]
    stage.wa.send_template(PERSON, "code", t.TemplateLanguage.GERMAN, params)
    assert stage.accepted()[0]["content"]["name"] == "code"


def test_a_carousel_and_an_offer(stage: Stage) -> None:
    card = t.CarouselCard(
        components=[
            t.HeaderImage(example=PNG),
            t.BodyText("Soft."),
            t.Buttons(buttons=[t.QuickReplyButton(text="Yes")]),
        ]
    )
    marketing = t.TemplateCategory.MARKETING
    stage.wa.create_template(
        parcel(category=marketing, components=[t.BodyText("All of this."), t.Carousel(cards=[card, card])])
    )
    offer = [
        t.LimitedTimeOffer(text="Soon over", has_expiration=True),
        t.BodyText("Buy it now."),
        t.Buttons(buttons=[t.CopyCodeButton(example="SAVE20"), t.URLButton(text="Go", url="https://example.com")]),
    ]
    made = stage.wa.create_template(parcel(name="offer", category=marketing, components=offer))
    assert len(made.get().components) == 3


def test_lists_filters_and_pages(stage: Stage) -> None:
    for place in range(3):
        stage.wa.create_template(plain(f"Text number {place}.", name=f"t{place}"))
    everything = stage.wa.get_templates()
    assert [one.name for one in everything] == ["hello_world", "order_update", "t0", "t1", "t2"]
    assert (everything.total_count, everything.message_template_limit) == (5, 250)
    assert [one.name for one in stage.wa.get_templates(statuses=[t.TemplateStatus.PENDING])] == ["t0", "t1", "t2"]
    assert [one.name for one in stage.wa.get_templates(name="t1")] == ["t1"]
    page = stage.wa.get_templates(pagination=Pagination(limit=2))
    assert page.has_next
    following = stage.wa.get_templates(pagination=Pagination(limit=2, after=page.after))
    assert [one.name for one in following] == ["t0", "t1"]
    assert following.has_previous


def test_edits(stage: Stage) -> None:
    received = listen(stage, handlers.TemplateComponentsUpdateHandler)
    made = stage.wa.create_template(plain("Your parcel is here."))
    stage.advance(5)
    changed = stage.wa.update_template(made.id, new_components=[t.BodyText("Your parcel is still here.")])
    assert (changed.success, changed.id, changed.name) == (True, made.id, "parcel")
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.update_template(made.id, new_components=[t.BodyText("No, it is gone.")])
    assert seen.value.subcode == 2388039
    stage.advance(5)
    assert received.get(timeout=PATIENCE).template_element == "Your parcel is still here."


def test_reports_of_quality_pauses_and_categories_arrive(stage: Stage) -> None:
    received = listen(
        stage,
        handlers.TemplateStatusUpdateHandler,
        handlers.TemplateQualityUpdateHandler,
        handlers.TemplateCategoryUpdateHandler,
    )
    made = stage.wa.create_template(plain("Your parcel is here."))
    stage.advance(5)
    assert received.get(timeout=PATIENCE).new_status == t.TemplateStatus.APPROVED
    stage.control("POST", f"templates/{made.id}/category", {"category": "MARKETING"})
    moved = received.get(timeout=PATIENCE)
    assert (moved.previous_category, moved.new_category) == (t.TemplateCategory.UTILITY, t.TemplateCategory.MARKETING)
    stage.control("POST", f"templates/{made.id}/quality", {"quality": "RED"})
    found = {type(update): update for update in (received.get(timeout=PATIENCE), received.get(timeout=PATIENCE))}
    assert found[t.TemplateQualityUpdate].new_quality_score == t.QualityScoreType.RED
    paused = found[t.TemplateStatusUpdate]
    assert (paused.new_status, paused.other_info.title) == (t.TemplateStatus.PAUSED, "FIRST_PAUSE")
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_template(PERSON, "parcel", t.TemplateLanguage.ENGLISH_US)
    assert seen.value.code == 132015
    assert not paused.unpause().success
    stage.control("POST", f"templates/{made.id}/review", {"decision": "disable"})
    disabled = received.get(timeout=PATIENCE)
    assert (disabled.new_status, disabled.disable_info is not None) == (t.TemplateStatus.DISABLED, True)


def test_a_rejection_arrives(stage: Stage) -> None:
    received = listen(stage, handlers.TemplateStatusUpdateHandler)
    made = stage.wa.create_template(parcel())
    verdict = {"decision": "reject", "reason": "INVALID_FORMAT", "recommendation": "Write more."}
    stage.control("POST", f"templates/{made.id}/review", verdict)
    seen = received.get(timeout=PATIENCE)
    assert (seen.reason, seen.rejection_info.recommendation) == (
        t.TemplateRejectionReason.INVALID_FORMAT,
        "Write more.",
    )


def test_pacing_archiving_comparing_and_moving(stage: Stage) -> None:
    made = stage.wa.create_template(plain("Your parcel is here."))
    stage.advance(5)
    stage.control("POST", f"templates/{made.id}/review", {"decision": "pace"})
    stage.advance(300)
    assert stage.wa.unpause_template(made.id).success
    assert stage.wa.archive_templates([made.id, "1"]).archived == (made.id,)
    assert stage.wa.unarchive_templates([made.id]).unarchived == (made.id,)
    stage.wa.send_template(PERSON, "parcel", t.TemplateLanguage.ENGLISH_US)
    other = stage.wa.get_templates(name="hello_world")[0]
    compared = stage.wa.compare_templates(made.id, other.id, start=0, end=2_000_000_000)
    assert compared.times_sent == {made.id: 1, other.id: 0}
    stage.register(phone_number_id="2002", phone="15550002222", waba_id="77")
    moved = stage.wa.migrate_templates("102290129340398", destination_waba_id="77")
    assert len(moved.migrated) == 1


def test_deleting(stage: Stage) -> None:
    made = stage.wa.create_template(parcel())
    stage.advance(5)
    assert stage.wa.delete_template("parcel", template_id=made.id)
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.create_template(parcel())
    assert seen.value.subcode == 2388023


def test_a_marketing_template_by_its_own_route(stage: Stage) -> None:
    stage.wa.create_template(plain("Come and buy.", category=t.TemplateCategory.MARKETING))
    stage.advance(5)
    stage.wa.send_template(PERSON, "parcel", t.TemplateLanguage.ENGLISH_US, use_mm_lite_api=True)
    assert stage.accepted()[0]["content"]["name"] == "parcel"
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.send_template(PERSON, "hello_world", t.TemplateLanguage.ENGLISH_US, use_mm_lite_api=True)
    assert seen.value.code == 134100
