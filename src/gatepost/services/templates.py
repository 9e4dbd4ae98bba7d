"""Templates: the network has the authoritative set, and each channel stores a copy.

create ─► checked ─► written as PENDING ─► the network ─► confirmed       its updates come by callback
                       └ failed here, with a key: the repeated request first asks whether the network has it
edit   ─► checked ─────────────────────► the network ─► read back
delete ────────────────────────────────► the network ─► removed
sync   ◄───────────────────────────────  the network's whole set
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.errors import Conflict, GatepostError, Invalid, invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import read_choice, read_number
from gatepost.model.template import NewTemplate, Preview, Template, check_new_template, preview
from gatepost.model.template.values import CATEGORIES, word
from gatepost.networks.base import BusinessAccount, CallFailed
from gatepost.services.lookup import existing, read_id
from gatepost.services.network_errors import network_call
from gatepost.store import templates as store
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Database
from gatepost.store.templates import StoredTemplate, Synced, TemplateDraft

log = structlog.get_logger("gatepost.templates")
EDITABLE = ("APPROVED", "REJECTED", "PAUSED")


class TemplateChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values to change; omitted fields keep their values. `components` replaces all components."""

    category: str | None = None
    components: list[Any] | None = None
    message_send_ttl_seconds: int | None = None


class PreviewRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values of the variables. The default values are the template's examples."""

    variables: list[str] | dict[str, str] | None = None
    header: str | None = None


class TemplateProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One violation of the network's rules."""

    field: str
    message: str


class TemplateService(msgspec.Struct, frozen=True):
    """The templates of one channel: the local copy, and the network's business account."""

    db: Database
    clock: Clock
    channel: ChannelRef
    channel_id: UUID
    business: BusinessAccount


async def access_template(db: Database, channel_id: UUID, text: str) -> StoredTemplate:
    """Return the template with this id, if it belongs to the channel."""
    return existing("tpl", await store.get_template(db, channel_id, read_id("tpl", text)))


async def create_template(
    service: TemplateService, new: NewTemplate, once: IdempotentRequest[StoredTemplate] = NEVER
) -> StoredTemplate:
    """Create a template on the network, which then reviews it."""
    template = check_new_template(new)
    reserved = await store.reserve_template(service.db, service.channel_id, template, service.clock.now(), once)
    if reserved is None:
        raise Conflict(
            f"There is a template '{new.name}' in {new.language} on this channel already. Edit it; or, if the network "
            "has lost it, POST /api/v1/templates/sync and try again."
        )
    try:
        with network_call():
            made = await _made_before(service.business, reserved) or await service.business.create_template(template)
    except GatepostError:
        await store.delete_template(service.db, service.channel_id, reserved.template.id)
        await once.forget(service.db)
        raise
    return await store.confirm_template(
        service.db, service.channel, service.channel_id, reserved.template, made, service.clock.now(), once
    )


class TemplateCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the network would reject in a template, and how the recipient would see it; null if it is not valid."""

    valid: bool
    problems: list[TemplateProblem]
    preview: Preview | None


async def check_template(db: Database, channel_id: UUID, new: NewTemplate) -> TemplateCheck:
    """Check a template as before it is submitted. Nothing is created."""
    try:
        template = check_new_template(new)
    except Invalid as error:
        return TemplateCheck(False, [TemplateProblem(one.field, one.message) for one in error.fields], None)
    async with db.connection() as conn:
        taken = await store.find_templates(conn, channel_id, [(new.name, new.language)])
    problems = [TemplateProblem("name", f"is used by a template in {new.language} already")] if taken else []
    return TemplateCheck(not problems, problems, preview(template))


async def edit_template(service: TemplateService, text: str, change: TemplateChange) -> StoredTemplate:
    """Ask the network to change a template, which it then reviews again."""
    before = await access_template(service.db, service.channel_id, text)
    fields = _check_change(before, change)
    asked_at, network_id = service.clock.now(), _known_there(before)
    with network_call():
        await service.business.edit_template(network_id, fields)
    changed = msgspec.structs.replace(before.as_template(), **_kept(fields), status="PENDING", reason=None)
    await _put(service, changed, asked_at)
    try:
        await reread_template(service, network_id)
    except CallFailed as failed:
        log.warning("template not read back", channel=ids.format_id("ch", service.channel_id), reason=str(failed))
    return await access_template(service.db, service.channel_id, text)


async def delete_template(service: TemplateService, text: str) -> None:
    """Delete a template, in its one language, on the network and in the database."""
    template = await access_template(service.db, service.channel_id, text)
    if template.network_id is not None:
        with network_call():
            await service.business.delete_template(template.name, template.network_id)
    await store.delete_template(service.db, service.channel_id, template.id)


async def sync_templates(service: TemplateService) -> Synced:
    """Read all templates of the business account, and delete those that the network does not have any more."""
    asked_at = service.clock.now()
    with network_call():
        found = await service.business.list_templates()
    now = service.clock.now()
    return await store.sync_templates(service.db, service.channel, service.channel_id, found, asked_at, now)


async def reread_template(service: TemplateService, network_id: str) -> None:
    """Read one template again after an incomplete update. Raises CallFailed."""
    asked_at = service.clock.now()
    found = await service.business.get_template(network_id)
    await _put(service, found, asked_at)


async def _put(service: TemplateService, template: Template, asked_at: datetime) -> None:
    now = service.clock.now()
    await store.put_template(service.db, service.channel, service.channel_id, template, asked_at, now)


def preview_template(template: StoredTemplate, request: PreviewRequest) -> Preview:
    """Return the message that the person will see."""
    return preview(template.as_template(), request.variables, request.header)


async def _made_before(business: BusinessAccount, reserved: TemplateDraft) -> Template | None:
    """Return the template that an earlier attempt of the same request may have created."""
    mine = reserved.template
    if not reserved.again:
        return None
    if mine.network_id is not None:
        return mine.as_template()
    found = await business.list_templates(mine.name)
    return next((one for one in found if (one.name, one.language) == (mine.name, mine.language)), None)


def _check_change(before: StoredTemplate, change: TemplateChange) -> dict[str, Any]:
    """Return the fields to change, or raise if the network's rules do not allow it."""
    fields = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}
    if not fields:
        raise invalid_field("body", f"names nothing to change; there are: {', '.join(change.__struct_fields__)}")
    if before.status not in EDITABLE:
        raise Conflict(
            f"A template can be edited once it is {', '.join(EDITABLE[:-1])} or {EDITABLE[-1]}; this one is "
            f"{before.status}. If that is out of date: POST /api/v1/templates/sync."
        )
    category = read_choice("category", word(change.category or before.category), CATEGORIES)
    if before.status == "APPROVED" and category != before.category:
        raise Conflict("The category of an approved template cannot be changed. Create a new template instead.")
    return fields | _checked(before, change, category)


def _checked(before: StoredTemplate, change: TemplateChange, category: str) -> dict[str, Any]:
    """Return the checked fields. Only new components are checked: the network has accepted the old ones."""
    checked: dict[str, Any] = {"category": category} if change.category else {}
    if change.components is not None:
        ttl, format_ = change.message_send_ttl_seconds, before.parameter_format
        new = NewTemplate(before.name, before.language, category, change.components, format_, ttl)
        return checked | {"components": check_new_template(new).components}
    if change.message_send_ttl_seconds not in (None, -1):
        read_number("message_send_ttl_seconds", change.message_send_ttl_seconds, f"template.ttl_{category.lower()}")
    return checked


def _kept(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in ("category", "components")}


def _known_there(template: StoredTemplate) -> str:
    if template.network_id is None:
        raise Conflict("The network has not confirmed this template yet. POST /api/v1/templates/sync, then try again.")
    return template.network_id
