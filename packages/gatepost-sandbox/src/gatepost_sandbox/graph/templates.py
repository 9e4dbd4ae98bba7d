"""Message templates: /{account}/message_templates and /{template}."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.errors import Refusal, parameter, unknown_object
from gatepost_sandbox.graph.call import SUCCESS, Call, Result, read_params
from gatepost_sandbox.graph.select import page, requested_fields, whole_number
from gatepost_sandbox.network import Network
from gatepost_sandbox.templates.template import Template, show, wording

ARCHIVE_MAX = 100


def create(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/message_templates."""
    params = read_params(call)
    made = params if isinstance(params, Refusal) else network.templates.create(waba_id, params)
    return made if isinstance(made, Refusal) else _created(made)


def upsert(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/upsert_message_templates: one authentication template in several languages."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    languages = params.get("languages")
    if not isinstance(languages, list) or not languages:
        return parameter("The parameter languages is required.")
    made = []
    for language in languages:
        old = network.templates.find(waba_id, str(params.get("name")), str(language))
        draft = {**params, "language": language, "category": params.get("category") or "AUTHENTICATION"}
        one = network.templates.create(waba_id, draft) if old is None else network.templates.edit(old, draft)
        if isinstance(one, Refusal):
            return one
        made.append({**_created(one), "language": one.language})
    return {"data": made}


def _created(template: Template) -> dict[str, Any]:
    return {"id": template.id, "status": template.status, "category": template.category}


def list_all(network: Network, waba_id: str, call: Call) -> Result:
    """GET /{account}/message_templates, a page at a time."""
    everything = network.templates.of(waba_id)
    chosen = [template for template in everything if matches(template, call.query)]
    fields = requested_fields(call.query.get("fields"))
    listed = page(call, [(template.serial, show(template, fields)) for template in chosen])
    if isinstance(listed, dict) and call.query.get("summary"):
        listed["summary"] = {
            "total_count": len(chosen),
            "message_template_count": len(everything),
            "message_template_limit": network.settings.management.templates,
            "are_translations_complete": True,
        }
    return listed


def matches(template: Template, query: dict[str, str]) -> bool:
    """Return whether a template matches the filters; several values of a filter are separated by commas."""
    text = " ".join(wording(template)).lower()
    for name in ("status", "category", "language", "quality_score"):
        have = template.quality if name == "quality_score" else str(getattr(template, name))
        if query.get(name) and have.lower() not in query[name].strip('[]"').lower().replace('"', "").split(","):
            return False
    name, content, either = (query.get(key, "").lower() for key in ("name", "content", "name_or_content"))
    return name in template.name and content in text and (either in template.name or either in text)


def get(network: Network, template: Template, call: Call) -> Result:
    """GET /{template}."""
    return show(template, requested_fields(call.query.get("fields")))


def edit(network: Network, template: Template, call: Call) -> Result:
    """POST /{template}."""
    params = read_params(call)
    changed = params if isinstance(params, Refusal) else network.templates.edit(template, params)
    if isinstance(changed, Refusal):
        return changed
    return {"success": True, "id": changed.id, "name": changed.name, "category": changed.category}


def delete(network: Network, waba_id: str, call: Call) -> Result:
    """DELETE /{account}/message_templates?name=…[&hsm_id=…]."""
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    if not params.get("name"):
        return parameter("The parameter name is required.")
    template_id = params.get("hsm_id")
    return network.templates.delete(waba_id, str(params["name"]), str(template_id) if template_id else None) or SUCCESS


def unpause(network: Network, template: Template, call: Call) -> Result:
    """POST /{template}/unpause."""
    why = network.templates.review.unpause(template)
    return SUCCESS if why is None else {"success": False, "reason": why}


def archive(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/message_templates/archive."""
    return _put_away(network, waba_id, call, network.templates.review.archive, "archived_templates")


def unarchive(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/message_templates/unarchive."""
    return _put_away(network, waba_id, call, network.templates.review.unarchive, "unarchived_templates")


def _put_away(network: Network, waba_id: str, call: Call, act: Callable[[Template], str | None], done: str) -> Result:
    params = read_params(call)
    if isinstance(params, Refusal):
        return params
    wanted = [part for part in str(params.get("hsm_ids", "")).split(",") if part]
    if not 1 <= len(wanted) <= ARCHIVE_MAX:
        return parameter(f"The parameter hsm_ids must name 1 to {ARCHIVE_MAX} templates.")
    failed: dict[str, str] = {}
    for template_id in wanted:
        template = network.templates.get(template_id)
        known = template is not None and template.waba_id == waba_id
        why = act(template) if known and template is not None else "There is no such template."
        if why is not None:
            failed[template_id] = why
    return {done: [found for found in wanted if found not in failed], "failed_templates": failed}


def compare(network: Network, template: Template, call: Call) -> Result:
    """GET /{template}/compare: how often each was sent between two times; block rates are zero."""
    others = [network.templates.get(part) for part in call.query.get("template_ids", "").split(",")]
    start, end = (whole_number(call.query.get(name, "")) for name in ("start", "end"))
    if not others or None in others or start is None or end is None:
        return unknown_object(call.method, f"{template.id}/compare")
    both = [template, *(other for other in others if other is not None)]
    sends = network.ledger.read("accepted", None, None, 0, 1_000_000)
    counts = [{"key": one.id, "value": sum(_is_send(row, one, start, end) for row in sends)} for one in both]
    reasons = [{"key": one.id, "value": "UNKNOWN_BLOCK_REASON"} for one in both]
    return {
        "data": [
            {"metric": "BLOCK_RATE", "type": "RELATIVE", "order_by_relative_metric": [one.id for one in both]},
            {"metric": "MESSAGE_SENDS", "type": "NUMBER_VALUES", "number_values": counts},
            {"metric": "TOP_BLOCK_REASON", "type": "STRING_VALUES", "string_values": reasons},
        ]
    }


def _is_send(row: dict[str, Any], template: Template, start: int, end: int) -> bool:
    if row["type"] != "template" or not start <= row["at"] <= end:
        return False
    content = row["content"]
    return (content.get("name"), content.get("language", {}).get("code")) == (template.name, template.language)


def migrate(network: Network, waba_id: str, call: Call) -> Result:
    """POST /{account}/migrate_message_templates?source_waba_id=…"""
    source = call.query.get("source_waba_id", "")
    if all(number.spec.waba_id != source for number in network.numbers.values()):
        return unknown_object(call.method, source)
    moved, failed = network.templates.migrate(source, waba_id)
    return {"migrated_templates": moved, "failed_templates": failed}
