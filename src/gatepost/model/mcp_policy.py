"""The policy of a key with the scope `mcp`: what an assistant may do. `mcp_verdict.py` applies it."""

from collections.abc import Mapping
from datetime import datetime, time
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.model import ids, times
from gatepost.model.dates import check_moment, read_zone
from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.link_hosts import normal_host
from gatepost.model.phone import check_phone
from gatepost.model.problem_collector import ProblemCollector
from gatepost.model.send_request import TYPES

PolicyMode = Literal["read", "draft", "send"]
DAYS_MAX = 365
LABELS_LIMIT, PHONES_MAX, TEMPLATES_MAX, HOSTS_MAX = 20, 1_000, 200, 200
PER_HOUR_MAX, UNANSWERED_MAX = 10_000, 100
_TEMPLATE_NAME_MAX = 512


def _described(text: str, least: int | None = None, most: int | None = None) -> Meta:
    """Return the description of a field for the API reference. `check_policy` checks the limits."""
    limits = {"minimum": least, "maximum": most}
    return Meta(
        description=text, extra_json_schema={name: limit for name, limit in limits.items() if limit is not None}
    )


class Recipients(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To whom a key may write: to each person whom at least one of the fields allows."""

    anyone: bool = False
    wrote_within_days: Annotated[int | None, _described("Who wrote in the last days.", 1, DAYS_MAX)] = 30
    labels: Annotated[tuple[str, ...], _described("Ids of labels of the conversation or the contact.")] = ()
    phones: tuple[str, ...] = ()


class QuietHours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hours of each day in which nothing is sent, e.g. from 22:00 to 07:00."""

    start: str
    end: str
    tz: str

    def contains(self, at: datetime) -> bool:
        """Return whether a time is within these hours. The end is not."""
        now, start, end = at.astimezone(read_zone(self.tz)).time(), _clock("start", self.start), _clock("end", self.end)
        return start <= now < end if start < end else now >= start or now < end


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one key."""

    mode: Annotated[PolicyMode, _described("`draft`: a person approves each message.")] = "draft"
    dry_run: Annotated[bool, _described("Nothing is sent and no draft is made; the log shows what would happen.")] = (
        False
    )
    recipients: Recipients = Recipients()
    no_crossing: Annotated[
        bool,
        _described("After it has read one conversation, it writes to others within an hour only drafts, no notes."),
    ] = True
    sends_per_hour: Annotated[int, _described("Messages and drafts.", 0, PER_HOUR_MAX)] = 30
    sends_per_conversation: Annotated[int, _described("In an hour.", 0, PER_HOUR_MAX)] = 10
    unanswered: Annotated[
        int, _described("Messages and drafts in a row without an answer of the person.", 1, UNANSWERED_MAX)
    ] = 3
    quiet_hours: QuietHours | None = None
    types: Annotated[tuple[str, ...] | None, _described("Types of messages; null: all.")] = None
    templates: Annotated[tuple[str, ...] | None, _described("Names of templates; null: all.")] = None
    link_hosts: Annotated[
        tuple[str, ...] | None,
        _described("Where links may lead, subdomains included; null: anywhere; empty: no links."),
    ] = None
    files: Annotated[bool, _described("Whether the content of files may be read.")] = False
    ends_at: Annotated[datetime | None, _described("From then on the key may do nothing.")] = None


DEFAULT_POLICY = Policy()


def check_policy(policy: Policy) -> None:
    """Reject a policy with invalid values. One error names all of them."""
    problems, people = ProblemCollector(), policy.recipients
    problems.read(_check_number, "sends_per_hour", policy.sends_per_hour, 0, PER_HOUR_MAX)
    problems.read(_check_number, "sends_per_conversation", policy.sends_per_conversation, 0, PER_HOUR_MAX)
    problems.read(_check_number, "unanswered", policy.unanswered, 1, UNANSWERED_MAX)
    if people.wrote_within_days is not None:
        problems.read(_check_number, "recipients.wrote_within_days", people.wrote_within_days, 1, DAYS_MAX)
    _check_each(problems, "recipients.labels", people.labels, LABELS_LIMIT, _check_label)
    _check_each(problems, "recipients.phones", people.phones, PHONES_MAX, _check_number_form)
    _check_each(problems, "types", policy.types or (), len(TYPES), _check_type)
    _check_each(problems, "templates", policy.templates or (), TEMPLATES_MAX, _check_template)
    _check_each(problems, "link_hosts", policy.link_hosts or (), HOSTS_MAX, _check_host)
    if policy.quiet_hours is not None:
        _check_quiet_hours(problems, policy.quiet_hours)
    if policy.ends_at is not None:
        problems.read(check_moment, "ends_at", policy.ends_at)
    problems.check()


def _check_number(field: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise invalid_field(field, f"must be between {least} and {most:,}")


def _check_each(problems: ProblemCollector, field: str, values: tuple[str, ...], limit: int, check: Any) -> None:
    if len(values) > limit:
        problems.read(_fail, field, f"may have at most {limit:,} items, but has {len(values):,}")
        return
    problems.read_each(field, values, check)


def _fail(field: str, message: str) -> None:
    raise invalid_field(field, message)


def _check_label(field: str, text: str) -> None:
    if ids.parse_id("lb", text) is None:
        raise invalid_field(field, "is not the id of a label; these are lb_ and 32 hexadecimal digits")


def _check_number_form(field: str, text: str) -> None:
    try:
        check_phone(text, field)
    except Invalid as error:
        raise invalid_field(field, error.fields[0].message) from None


def _check_type(field: str, text: str) -> None:
    if text not in TYPES:
        raise invalid_field(field, f"must be one of: {', '.join(TYPES)}")


def _check_template(field: str, text: str) -> None:
    if not (1 <= len(text) <= _TEMPLATE_NAME_MAX and text.isprintable()):
        raise invalid_field(field, "is not the name of a template")


def _check_host(field: str, text: str) -> None:
    if normal_host(text) is None:
        raise invalid_field(field, "must be a host name without https://, port or path, e.g. example.com")


def _check_quiet_hours(problems: ProblemCollector, hours: QuietHours) -> None:
    problems.read(_clock, "quiet_hours.start", hours.start)
    problems.read(_clock, "quiet_hours.end", hours.end)
    if hours.start == hours.end:
        problems.read(_fail, "quiet_hours.end", "must differ from the start")
    try:
        read_zone(hours.tz)
    except Invalid as error:
        problems.read(_fail, "quiet_hours.tz", error.fields[0].message)


def _clock(field: str, text: str) -> time:
    """Parse a time of day such as 22:00."""
    hour, separator, minute = text.partition(":")
    digits = len(text) == 5 and text.isascii() and hour.isdigit() and minute.isdigit()
    if not (separator and digits and int(hour) < 24 and int(minute) < 60):
        raise invalid_field(field, "must be a time of day like 22:00")
    return time(int(hour), int(minute))


# -- for people --------------------------------------------------------------------------------------------------------


def sentences(policy: Policy, labels: Mapping[UUID, str] | None = None) -> list[str]:
    """Return the policy in plain English, one sentence per rule. `labels` are the names of labels by id."""
    if policy.mode == "read":
        said = ["The assistant may read. It sends nothing and changes nothing."]
    else:
        said = [
            "The assistant may send messages." if policy.mode == "send" else "A person approves each message.",
            _recipients(policy.recipients, labels or {}),
            *_limits(policy),
            *_content(policy),
        ]
    said.append("It may open files." if policy.files else "It cannot open files.")
    if policy.ends_at is not None:
        said.append(f"It stops at {times.format_time(policy.ends_at)}.")
    if policy.dry_run and policy.mode != "read":
        said.append("Dry run: nothing is sent and no draft is made; the log shows what would have happened.")
    return said


def _recipients(people: Recipients, labels: Mapping[UUID, str]) -> str:
    if people.anyone:
        return "It may write to anyone."
    allowed = []
    if people.wrote_within_days is not None:
        days = people.wrote_within_days
        allowed.append(f"people who wrote in the last {days} days" if days > 1 else "people who wrote in the last day")
    if people.labels:
        names = [labels.get(ids.parse_id("lb", text) or ids.ZERO, text) for text in people.labels]
        allowed.append(f"people with the label {_either([f'“{name}”' for name in names])}")
    if people.phones:
        count = len(people.phones)
        allowed.append(f"{count:,} listed numbers" if count > 1 else "one listed number")
    return f"It may write to {_either(allowed)}." if allowed else "It may write to nobody."


def _limits(policy: Policy) -> list[str]:
    said = []
    if policy.no_crossing:
        sends = "what it writes to anybody else needs approval, and " if policy.mode == "send" else ""
        said.append(f"For an hour after it has read one conversation, {sends}it writes no note in another one.")
    said.append(
        f"At most {_count(policy.sends_per_hour, 'message')} an hour, {policy.sends_per_conversation:,} of them in one "
        f"conversation, and {policy.unanswered} in a row without an answer."
    )
    if policy.quiet_hours is not None:
        hours = policy.quiet_hours
        said.append(f"Nothing between {hours.start} and {hours.end} ({hours.tz}).")
    return said


def _content(policy: Policy) -> list[str]:
    said = []
    if policy.types is not None:
        said.append(f"Only messages of type {_either(policy.types)}." if policy.types else "No type of message.")
    if policy.templates is not None:
        said.append(f"Only the template {_either(policy.templates)}." if policy.templates else "No templates.")
    if policy.link_hosts is not None:
        said.append(f"Only links to {_either(policy.link_hosts)}." if policy.link_hosts else "No links.")
    return said


def _count(number: int, noun: str) -> str:
    return f"one {noun}" if number == 1 else f"{number:,} {noun}s"


def _either(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
