"""Applies the policy of a key to what its assistant wants to do.

stopped, ended, mode ─► hand-over ─► recipient ─► content ─► limits ─► quiet hours ─► draft or send
"""

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Literal

import msgspec

from gatepost.model import times
from gatepost.model.dates import read_zone
from gatepost.model.errors import Forbidden
from gatepost.model.link_hosts import is_allowed, link_hosts, texts_of
from gatepost.model.mcp_policy import Policy, QuietHours
from gatepost.model.message import CheckedMessage
from gatepost.model.number_forms import forms_of

HOUR = timedelta(hours=1)
Decision = Literal["send", "draft", "refuse"]
# The names of the rules are public: answers, drafts and the log of calls show them.
RULES = (
    "stopped",
    "ends_at",
    "mode",
    "hand_over",
    "recipients",
    "types",
    "templates",
    "link_hosts",
    "sends_per_hour",
    "sends_per_conversation",
    "unanswered",
    "quiet_hours",
    "no_crossing",
    "files",
)


class ProposedSend(msgspec.Struct, frozen=True):
    """What the policy has to know of a message."""

    phone: str
    type: str
    content: str = "{}"  # JSON
    template: str | None = None
    leaves_at: datetime | None = None  # None: now
    draft: bool = False  # whether the caller asked for a draft

    @classmethod
    def of(cls, message: CheckedMessage, *, draft: bool) -> "ProposedSend":
        template = message.template.name if message.template else None
        return cls(message.phone, message.type, message.content, template, message.send_at, draft)


class SendFacts(msgspec.Struct, frozen=True):
    """The state of a key and of the recipient, as read under the lock of the channel."""

    now: datetime
    stopped: bool = False
    last_in_at: datetime | None = None  # when the person last wrote
    labels: frozenset[str] = frozenset()
    sent: Sequence[datetime] = ()  # messages and drafts of the key in the last hour, the newest first
    sent_to_person: Sequence[datetime] = ()  # those of them to this person
    unanswered: int = 0
    read_others: bool = False  # whether the key has read another conversation in the last hour
    handed_over: bool = False


class PolicyVerdict(msgspec.Struct, frozen=True):
    """What the policy decides, and why."""

    outcome: Decision
    rule: str | None = None
    reason: str | None = None
    instead: str | None = None  # what to do
    works_at: datetime | None = None  # when the same call is allowed, if only time is missing


class PolicyRefused(Forbidden):
    """The policy of the key does not allow this."""

    default_code = "policy_refused"

    def __init__(self, verdict: PolicyVerdict, now: datetime) -> None:
        wait = (verdict.works_at - now).total_seconds() if verdict.works_at else None
        super().__init__(f"{verdict.reason} {verdict.instead}", retry_after=wait)
        self.verdict = verdict
        self.rule = verdict.rule or ""


def judge(policy: Policy, request: ProposedSend, facts: SendFacts) -> PolicyVerdict:
    """Decide about a message: send it, make a draft of it, or refuse it."""
    refusal = judge_change(policy, stopped=facts.stopped, now=facts.now)
    if refusal is not None:
        return refusal
    for rule in _SEND_RULES:
        refusal = rule(policy, request, facts)
        if refusal is not None:
            return refusal
    if policy.mode == "draft":
        return PolicyVerdict("draft", "mode", "A person approves each message of this key.")
    if request.draft:
        return PolicyVerdict("draft", None, "The assistant asked for a draft.")
    if policy.no_crossing and facts.read_others:
        return PolicyVerdict(
            "draft", "no_crossing", "This key has read another conversation within the last hour, so a person decides."
        )
    return PolicyVerdict("send")


def judge_call(policy: Policy, *, stopped: bool, now: datetime) -> PolicyVerdict | None:
    """Return the refusal of any call; None if it is allowed."""
    if stopped:
        return _refuse("stopped", "All assistants of this account are stopped.", "An owner can let them go on.")
    if policy.ends_at is not None and policy.ends_at <= now:
        ended = times.format_time(policy.ends_at)
        return _refuse("ends_at", f"The time of this key ended at {ended}.", "Ask an owner of the account.")
    return None


def judge_change(policy: Policy, *, stopped: bool, now: datetime) -> PolicyVerdict | None:
    """Return the refusal of any change, such as a label or a note; None if it is allowed."""
    refusal = judge_call(policy, stopped=stopped, now=now)
    if refusal is None and policy.mode == "read":
        return _refuse("mode", "This key may only read.", "Tell a person what you would do.")
    return refusal


def judge_note(policy: Policy, *, read_others: bool) -> PolicyVerdict | None:
    """Return the refusal of a note, which its key can read later; None if it is allowed."""
    if policy.no_crossing and read_others:
        return _refuse(
            "no_crossing",
            "This key has read another conversation within the last hour, so it may not write a note here.",
            "Ask a person to write it, or write it an hour after reading the other conversation.",
        )
    return None


def judge_file(policy: Policy, *, stopped: bool, now: datetime) -> PolicyVerdict | None:
    """Return the refusal of reading the content of a file; None if it is allowed."""
    refusal = judge_call(policy, stopped=stopped, now=now)
    if refusal is None and not policy.files:
        return _refuse("files", "This key may not open files.", "Ask a person to look at it.")
    return refusal


def check_verdict(verdict: PolicyVerdict | None, now: datetime) -> None:
    """Raise a refusal."""
    if verdict is not None and verdict.outcome == "refuse":
        raise PolicyRefused(verdict, now)


def _refuse(rule: str, reason: str, instead: str, works_at: datetime | None = None) -> PolicyVerdict:
    return PolicyVerdict("refuse", rule, reason, instead, works_at)


# -- the rules of messages, in the order in which they are applied -----------------------------------------------------


def _hand_over(_policy: Policy, _request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    if facts.handed_over:
        return _refuse(
            "hand_over",
            "A person has taken over this conversation.",
            "Write nothing there until a person gives it back.",
        )
    return None


def _recipients(policy: Policy, request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    people = policy.recipients
    if people.anyone or facts.labels.intersection(people.labels):
        return None
    if set(forms_of(request.phone)).intersection(people.phones):
        return None
    days = people.wrote_within_days
    if days is not None and facts.last_in_at is not None and facts.last_in_at > facts.now - timedelta(days=days):
        return None
    return _refuse(
        "recipients", "This key may not write to this person.", "Answer people who wrote, or ask a person to write."
    )


def _types(policy: Policy, request: ProposedSend, _facts: SendFacts) -> PolicyVerdict | None:
    if policy.types is None or request.type in policy.types:
        return None
    allowed = f"Allowed are: {', '.join(policy.types)}." if policy.types else "No type is allowed."
    return _refuse("types", f"This key may not send messages of type {request.type}.", allowed)


def _templates(policy: Policy, request: ProposedSend, _facts: SendFacts) -> PolicyVerdict | None:
    if policy.templates is None or request.template is None or request.template in policy.templates:
        return None
    allowed = f"Allowed are: {', '.join(policy.templates[:20])}." if policy.templates else "No template is allowed."
    return _refuse("templates", f"This key may not send the template {request.template}.", allowed)


def _links(policy: Policy, request: ProposedSend, _facts: SendFacts) -> PolicyVerdict | None:
    if policy.link_hosts is None:
        return None
    hosts = link_hosts(texts_of(msgspec.json.decode(request.content)))
    wrong = sorted(host for host in hosts if not is_allowed(host, policy.link_hosts))
    if not wrong:
        return None
    allowed = f"Links may lead to: {', '.join(policy.link_hosts[:20])}." if policy.link_hosts else "Send no link."
    return _refuse(
        "link_hosts",
        f"This key may not send links to {', '.join(wrong[:5])}.",
        f"{allowed} If it is no link, put a space after the full stop.",
    )


def _per_hour(policy: Policy, _request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    return _rate("sends_per_hour", policy.sends_per_hour, facts.sent, "This key may write")


def _per_conversation(policy: Policy, _request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    return _rate(
        "sends_per_conversation",
        policy.sends_per_conversation,
        facts.sent_to_person,
        "In one conversation it may write",
    )


def _rate(rule: str, limit: int, sent: Sequence[datetime], who: str) -> PolicyVerdict | None:
    if len(sent) < limit:
        return None
    if not limit:
        return _refuse(rule, f"{who} no messages.", "Ask a person to write.")
    works_at = sent[limit - 1] + HOUR
    reason = f"{who} {limit:,} messages an hour, drafts included, and has."
    return _refuse(rule, reason, f"Try again at {times.format_time(works_at)}.", works_at)


def _unanswered(policy: Policy, _request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    if facts.unanswered < policy.unanswered:
        return None
    return _refuse(
        "unanswered",
        f"{facts.unanswered} messages or drafts in a row have no answer of this person yet.",
        "Wait until they write.",
    )


def _quiet_hours(policy: Policy, request: ProposedSend, facts: SendFacts) -> PolicyVerdict | None:
    hours, leaves_at = policy.quiet_hours, request.leaves_at or facts.now
    if hours is None or not hours.contains(leaves_at):
        return None
    ends = quiet_until(hours, leaves_at)
    reason = f"It is quiet from {hours.start} to {hours.end} ({hours.tz})."
    return _refuse("quiet_hours", reason, f"Try again at {times.format_time(ends)}.", ends)


def quiet_until(hours: QuietHours, at: datetime) -> datetime:
    """Return when the quiet hours of a time end."""
    zone = read_zone(hours.tz)
    local = at.astimezone(zone)
    end = datetime.combine(local.date(), time.fromisoformat(hours.end), zone)
    if end <= local:
        end = datetime.combine(local.date() + timedelta(days=1), end.time(), zone)
    return end.astimezone(at.tzinfo)


_SendRule = Callable[[Policy, ProposedSend, SendFacts], PolicyVerdict | None]
_SEND_RULES: tuple[_SendRule, ...] = (
    _hand_over,
    _recipients,
    _types,
    _templates,
    _links,
    _per_hour,
    _per_conversation,
    _unanswered,
    _quiet_hours,
)
