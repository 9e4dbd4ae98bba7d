"""The values of the webhook fields about templates."""

from typing import Any

from gatepost_sandbox.templates.template import Category, Quality, Template, component

STATUS = "message_template_status_update"
QUALITY = "message_template_quality_update"
CATEGORY = "template_category_update"
COMPONENTS = "message_template_components_update"

DETAILS = {
    "FIRST_PAUSE": "People reacted badly to this template. It rests for 3 hours.",
    "SECOND_PAUSE": "People reacted badly to this template again. It rests for 6 hours.",
    "RATE_LIMITING_PAUSE": "The first people who got this template reacted badly. It rests until it is unpaused.",
    "UNPAUSE": "This template may be sent again.",
    "DISABLED": "People kept reacting badly to this template. It may not be sent any more.",
}


def _named(template: Template) -> dict[str, Any]:
    return {
        "message_template_id": int(template.id),
        "message_template_name": template.name,
        "message_template_language": template.language,
    }


def status_value(
    template: Template,
    event: str,
    *,
    reason: str | None = "NONE",
    title: str | None = None,
    disabled_at: float | None = None,
    recommendation: str | None = None,
) -> dict[str, Any]:
    """Return the webhook value of a new status."""
    value: dict[str, Any] = {"event": event, **_named(template), "reason": reason}
    value["message_template_category"] = template.category
    if disabled_at is not None:
        value["disable_info"] = {"disable_date": int(disabled_at)}
    if title is not None:
        value["other_info"] = {"title": title, "description": DETAILS[title]}
    if recommendation is not None:
        value["rejection_info"] = {"reason": "The form of the template is not valid.", "recommendation": recommendation}
    return value


def quality_value(template: Template, previous: Quality) -> dict[str, Any]:
    """Return the webhook value of a new quality rating."""
    return {"previous_quality_score": previous, "new_quality_score": template.quality, **_named(template)}


def impending_value(template: Template, correct: Category, at: float) -> dict[str, Any]:
    """Return the webhook value of an upcoming category change; `new_category` is the present one."""
    change = {"new_category": template.category, "correct_category": correct, "category_update_timestamp": int(at)}
    return {**_named(template), **change}


def category_value(template: Template, previous: Category) -> dict[str, Any]:
    """Return the webhook value of a new category."""
    return {**_named(template), "previous_category": previous, "new_category": template.category}


def components_value(template: Template) -> dict[str, Any]:
    """Return the webhook value of changed components."""
    value = _named(template)
    header, body, footer, buttons = (
        component(template.components, kind) for kind in ("HEADER", "BODY", "FOOTER", "BUTTONS")
    )
    value["message_template_element"] = (body or {}).get("text", "")
    if header is not None and "text" in header:
        value["message_template_title"] = header["text"]
    if footer is not None:
        value["message_template_footer"] = footer["text"]
    if buttons is not None:
        value["message_template_buttons"] = [_button(button) for button in buttons["buttons"]]
    return value


def _button(button: dict[str, Any]) -> dict[str, Any]:
    value = {"message_template_button_type": button["type"], "message_template_button_text": button.get("text", "")}
    for key in ("url", "phone_number"):
        if key in button:
            value[f"message_template_button_{key}"] = button[key]
    return value
