"""The review of templates, automatic or by the control API.

PENDING ─┬─► APPROVED ──RED──► PAUSED 3 h ─► APPROVED ──RED──► PAUSED 6 h ─► APPROVED ──RED──► DISABLED
         └─► REJECTED          (pacing: PAUSED until the business unpauses it, 5 minutes later at the earliest)

Each step is a webhook. A step that was planned for later does nothing when another decision came first.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.settings import Management
from gatepost_sandbox.templates import webhook_values
from gatepost_sandbox.templates.template import Category, Quality, Reason, Template, wording

PAUSES = (("FIRST_PAUSE", 3 * 3600.0), ("SECOND_PAUSE", 6 * 3600.0))
UNPAUSE_AFTER = 300.0
NOTICE = 24 * 3600.0
ARCHIVED_FOR = 28 * 86_400.0
_STATUS = ("status", "since")
ADVICE = "Write a body and footer that no other template of this account has."

Decide = Callable[[Template], object]


class Review:
    """Reviews the templates of a store."""

    def __init__(
        self,
        clock: Clock,
        rules: Callable[[], Management],
        announce: Callable[[str, str, dict[str, Any]], None],
        kept: dict[str, Template],
    ) -> None:
        self._clock, self._rules, self._announce, self._kept = clock, rules, announce, kept

    def submit(self, template: Template, *, edited: bool = False) -> None:
        """Schedule the review of a template, unless reviews are manual."""
        rules = self._rules()
        if rules.review == "auto":
            self._later(template, rules.review_delay, partial(self._judge, edited=edited), _STATUS)

    def approve(self, template: Template, *, edited: bool = False) -> Template:
        """Approve a template."""
        if edited:
            self._announce(template.waba_id, webhook_values.COMPONENTS, webhook_values.components_value(template))
        return self._tell(self._change(template, status="APPROVED", rejected_reason="NONE"), "APPROVED")

    def reject(self, template: Template, reason: Reason, recommendation: str | None = None) -> Template:
        """Reject a template."""
        changed = self._change(template, status="REJECTED", rejected_reason=reason)
        advice = recommendation or (ADVICE if reason == "INVALID_FORMAT" else None)
        return self._tell(changed, "REJECTED", reason=reason, recommendation=advice)

    def rate(self, template: Template, quality: Quality) -> Template:
        """Rate a template; RED pauses it, and disables it the third time."""
        now = self._clock.now()
        changed = self._change(template, quality=quality, quality_at=now)
        if quality != template.quality:
            self._announce(
                template.waba_id, webhook_values.QUALITY, webhook_values.quality_value(changed, template.quality)
            )
        return self.pause(changed) if quality == "RED" and template.status == "APPROVED" else changed

    def pause(self, template: Template) -> Template:
        """Pause a template: for 3 hours, then 6, then disable it."""
        if template.pauses >= len(PAUSES):
            return self.disable(template)
        title, seconds = PAUSES[template.pauses]
        changed = self._change(template, status="PAUSED", pauses=template.pauses + 1, pacing=False)
        self._tell(changed, "PAUSED", title=title)
        self._later(changed, seconds, self.resume, _STATUS)
        return changed

    def pause_for_pacing(self, template: Template) -> Template:
        """Pause a template until the business unpauses it."""
        changed = self._change(template, status="PAUSED", pacing=True)
        return self._tell(changed, "PAUSED", title="RATE_LIMITING_PAUSE")

    def resume(self, template: Template) -> Template:
        """Resume a paused template."""
        changed = self._change(template, status="APPROVED", quality="UNKNOWN", quality_at=self._clock.now())
        return self._tell(changed, "APPROVED", title="UNPAUSE")

    def unpause(self, template: Template) -> str | None:
        """Unpause a template for the business; return why it cannot be, or None."""
        if template.status != "PAUSED" or not template.pacing:
            return "Only a template that pacing has paused can be unpaused."
        if self._clock.now() - template.since < UNPAUSE_AFTER:
            return "A template can be unpaused 5 minutes after it was paused."
        self.resume(template)
        return None

    def disable(self, template: Template) -> Template:
        """Disable a template."""
        now = self._clock.now()
        return self._tell(self._change(template, status="DISABLED"), "DISABLED", title="DISABLED", disabled_at=now)

    def move(self, template: Template, category: Category) -> Template:
        """Move a template to another category."""
        moved = {"category": category, "previous_category": template.category, "correct_category": None}
        changed = self._change(template, **moved)
        self._announce(
            template.waba_id, webhook_values.CATEGORY, webhook_values.category_value(changed, template.category)
        )
        return changed

    def warn_move(self, template: Template, category: Category) -> Template:
        """Announce a new category, and move the template a day later."""
        changed = self._change(template, correct_category=category)
        value = webhook_values.impending_value(changed, category, self._clock.now() + NOTICE)
        self._announce(template.waba_id, webhook_values.CATEGORY, value)
        self._later(changed, NOTICE, partial(self.move, category=category), ("correct_category",))
        return changed

    def archive(self, template: Template) -> str | None:
        """Archive a template, which is deleted 28 days later; return why it cannot be, or None."""
        if template.status == "ARCHIVED":
            return "The template is archived already."
        changed = self._change(template, status="ARCHIVED", before_archive=template.status)
        self._tell(changed, "ARCHIVED")
        self._later(changed, ARCHIVED_FOR, self._remove, _STATUS)
        return None

    def unarchive(self, template: Template) -> str | None:
        """Restore an archived template; return why it cannot be, or None."""
        if template.status != "ARCHIVED":
            return "The template is not archived."
        self._tell(self._change(template, status=template.before_archive), "UNARCHIVED")
        return None

    def _judge(self, template: Template, *, edited: bool) -> Template:
        pattern, (body, footer) = self._rules().reject_pattern, wording(template)
        if pattern and re.search(pattern, f"{body}\n{footer}"):
            return self.reject(template, "ABUSIVE_CONTENT")
        others = (
            other for other in self._kept.values() if other.waba_id == template.waba_id and other.name != template.name
        )
        doubles = (other for other in others if other.status != "REJECTED" and wording(other) == (body, footer))
        if template.category != "AUTHENTICATION" and any(doubles):
            return self.reject(template, "INVALID_FORMAT")
        return self.approve(template, edited=edited)

    def _remove(self, template: Template) -> None:
        del self._kept[template.id]
        self._tell(template, "DELETED")

    def _change(self, template: Template, **changes: Any) -> Template:
        if "status" in changes:
            changes["since"] = self._clock.now()
        changed = msgspec.structs.replace(template, **changes)
        self._kept[template.id] = changed
        return changed

    def _tell(self, template: Template, event: str, **more: Any) -> Template:
        self._announce(template.waba_id, webhook_values.STATUS, webhook_values.status_value(template, event, **more))
        return template

    def _later(self, template: Template, seconds: float, decide: Decide, same: tuple[str, ...]) -> None:
        """Call `decide` later, if the template still exists and these fields have not changed."""
        self._clock.at(self._clock.now() + seconds, partial(self._if_same, template, decide, same))

    def _if_same(self, then: Template, decide: Decide, same: tuple[str, ...]) -> None:
        template = self._kept.get(then.id)
        if template is not None and all(getattr(template, name) == getattr(then, name) for name in same):
            decide(template)
