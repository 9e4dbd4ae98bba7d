"""The templates of all business accounts, and the operations on them.

create ─► PENDING ─► review (review.py) ─► APPROVED │ REJECTED
              ▲                                │
              └───────────── edit ◄────────────┴─► delete ─► the name is reserved for 30 days
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.ids import node_id, stream
from gatepost_sandbox.settings import Management
from gatepost_sandbox.templates import webhook_values
from gatepost_sandbox.templates.draft import Draft, read_content, read_draft
from gatepost_sandbox.templates.initial import STOCK
from gatepost_sandbox.templates.problems import ALREADY_THERE, BEING_DELETED, NOT_EDITABLE, TOO_MANY, wrong
from gatepost_sandbox.templates.review import Review
from gatepost_sandbox.templates.template import Template

HOUR, DAY = 3600.0, 86_400.0
NAME_RESTS = 30 * DAY
EDITS_PER_DAY, EDITS_PER_MONTH = 1, 10
EDITABLE = ("APPROVED", "REJECTED", "PAUSED")

Announce = Callable[[str, str, dict[str, Any]], None]


class Templates:
    """Every template of one network."""

    def __init__(self, seed: int, clock: Clock, rules: Callable[[], Management], announce: Announce) -> None:
        self._seed, self._clock, self._rules, self._announce = seed, clock, rules, announce
        self._kept: dict[str, Template] = {}
        self._opened: set[str] = set()
        self._resting: dict[tuple[str, str, str], float] = {}
        self._created: defaultdict[str, list[float]] = defaultdict(list)
        self._serial = 0
        self.review = Review(clock, rules, announce, self._kept)

    def open(self, waba_id: str) -> None:
        """Create the initial templates of an account on its first use."""
        if waba_id not in self._opened:
            self._opened.add(waba_id)
            for draft in STOCK:
                self._add(waba_id, draft, "APPROVED")

    def of(self, waba_id: str) -> list[Template]:
        """Return all templates of an account, oldest first."""
        self.open(waba_id)
        return [template for template in self._kept.values() if template.waba_id == waba_id]

    def get(self, template_id: str) -> Template | None:
        """Return the template with this id."""
        return self._kept.get(template_id)

    def find(self, waba_id: str, name: str, language: str) -> Template | None:
        """Return the template of this name in this language."""
        named = (found for found in self.of(waba_id) if found.name == name and found.language == language)
        return next(named, None)

    def create(self, waba_id: str, payload: dict[str, Any]) -> Template | Refusal:
        """Create a template, or return the refusal."""
        draft = read_draft(payload)
        if isinstance(draft, Refusal):
            return draft
        refusal = self._check_room(waba_id, draft)
        if refusal is not None:
            return refusal
        self._created[waba_id].append(self._clock.now())
        template = self._add(waba_id, draft, "PENDING")
        self.review.submit(template)
        return template

    def edit(self, template: Template, payload: dict[str, Any]) -> Template | Refusal:
        """Change a template, which is then reviewed again."""
        refusal = self._check_edit(template, payload)
        if refusal is not None:
            return refusal
        if template.category == "AUTHENTICATION" and "components" not in payload:
            draft: Draft | Refusal = _unchanged(template)
        else:
            draft = read_content(template.name, template.language, _merged(template, payload))
        if isinstance(draft, Refusal):
            return draft
        now = self._clock.now()
        changed = msgspec.structs.replace(
            template,
            category=draft.category,
            parameter_format=draft.parameter_format,
            components=draft.components,
            ttl=draft.ttl,
            edited=(*template.edited, now) if template.status == "APPROVED" else template.edited,
            status="PENDING",
            since=now,
            rejected_reason="NONE",
        )
        self._kept[template.id] = changed
        self.review.submit(changed, edited=True)
        return changed

    def delete(self, waba_id: str, name: str, template_id: str | None) -> Refusal | None:
        """Delete a template in one language or, without an id, in all."""
        named = [found for found in self.of(waba_id) if found.name == name and template_id in (None, found.id)]
        if not named:
            return Refusal(100, message="Invalid parameter", user_message=f"There is no template named {name!r}.")
        if any(found.status == "DISABLED" for found in named):
            return wrong("A disabled template cannot be deleted.")
        for template in named:
            del self._kept[template.id]
            if template.status in ("APPROVED", "PAUSED"):
                scope = "" if template_id is None else template.language
                self._resting[waba_id, name, scope] = self._clock.now() + NAME_RESTS
            value = webhook_values.status_value(template, "PENDING_DELETION", reason=None)
            self._announce(waba_id, webhook_values.STATUS, value)
        return None

    def migrate(self, source: str, target: str) -> tuple[list[str], list[dict[str, str]]]:
        """Copy approved templates of one account to another; return the ids of the copies, and the failures."""
        moved, failed = [], []
        for template in self.of(source):
            if template.status != "APPROVED" or self.find(target, template.name, template.language) is not None:
                failed.append({"id": template.id, "reason": "It is not approved, or the target has one of this name."})
                continue
            moved.append(self._add(target, _unchanged(template), "APPROVED").id)
        return moved, failed

    def _check_room(self, waba_id: str, draft: Draft) -> Refusal | None:
        now, rules = self._clock.now(), self._rules()
        recent = self._created[waba_id] = [at for at in self._created[waba_id] if now - at < HOUR]
        if rules.template_creations_per_hour is not None and len(recent) >= rules.template_creations_per_hour:
            return Refusal(80008, details="Too many templates were created for this account within an hour.")
        if self.find(waba_id, draft.name, draft.language) is not None:
            return wrong(f"There is a template {draft.name!r} in {draft.language} already.", ALREADY_THERE)
        if any(now < self._resting.get((waba_id, draft.name, scope), 0.0) for scope in ("", draft.language)):
            return wrong(f"The name {draft.name!r} was deleted less than 30 days ago.", BEING_DELETED)
        if len(self.of(waba_id)) >= rules.templates:
            return wrong(f"An account has at most {rules.templates} templates.", TOO_MANY)
        return None

    def _check_edit(self, template: Template, payload: dict[str, Any]) -> Refusal | None:
        if template.status not in EDITABLE:
            return wrong(f"A template that is {template.status} cannot be edited.", NOT_EDITABLE)
        if not {"category", "components", "message_send_ttl_seconds", "parameter_format"} & set(payload):
            return wrong("Nothing of the template is to change.")
        if template.status != "APPROVED":
            return None
        if str(payload.get("category") or template.category).upper() != template.category:
            return wrong("The category of an approved template cannot be changed.", NOT_EDITABLE)
        now = self._clock.now()
        today = [at for at in template.edited if now - at < DAY]
        month = [at for at in template.edited if now - at < 30 * DAY]
        if len(today) >= EDITS_PER_DAY or len(month) >= EDITS_PER_MONTH:
            return wrong("An approved template is edited at most once in 24 hours and ten times in 30 days.")
        return None

    def _add(self, waba_id: str, draft: Draft, status: Any) -> Template:
        self._serial += 1
        template = Template(
            id=node_id(stream(self._seed, "template", waba_id, draft.name, draft.language, str(self._serial))),
            serial=self._serial,
            waba_id=waba_id,
            name=draft.name,
            language=draft.language,
            category=draft.category,
            status=status,
            parameter_format=draft.parameter_format,
            components=draft.components,
            ttl=draft.ttl,
            since=self._clock.now(),
            quality_at=self._clock.now(),
        )
        self._kept[template.id] = template
        return template


def _merged(template: Template, payload: dict[str, Any]) -> dict[str, Any]:
    kept = {
        "category": template.category,
        "components": template.components,
        "parameter_format": template.parameter_format,
        "message_send_ttl_seconds": template.ttl,
    }
    return {**kept, **{name: value for name, value in payload.items() if value is not None}}


def _unchanged(template: Template) -> Draft:
    return Draft(
        template.name,
        template.language,
        template.category,
        template.parameter_format,
        template.components,
        template.ttl,
    )
