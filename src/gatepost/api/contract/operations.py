"""Results of the operator's commands that have no route of their own, for `--json` of the CLI.

Where the API has the resource, its object is extended: by `channel`, because the operator sees all channels, and by
older names of fields, which scripts rely on.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from gatepost.admin.signing import SigningSecret
from gatepost.api.contract.deliveries import Retry
from gatepost.api.contract.fields import ApiObject, ChannelId, MessageId, Phone, Text, When
from gatepost.api.contract.messages import Message
from gatepost.api.contract.webhooks import Attempt, Trial, Webhook
from gatepost.model import ids, times
from gatepost.model.delivery import masked
from gatepost.model.errors import GatepostError
from gatepost.store.deliveries.log import LoggedAttempt
from gatepost.store.endpoints import Endpoint
from gatepost.store.messages.history import StoredMessage
from gatepost.webhooks.endpoint_test import EndpointTest
from gatepost.webhooks.verification import VerificationResult

S = TypeVar("S", bound=msgspec.Struct)


def _extended(type_: type[S], base: msgspec.Struct, **more: Any) -> S:
    return type_(**msgspec.structs.asdict(base), **more)


class ChannelWebhook(Webhook, frozen=True):
    """A webhook endpoint of a channel; values of headers are masked.

    `secrets` is empty if the secret key of this gateway cannot decrypt them.
    """

    channel: ChannelId
    batch_wait: float
    payload_version: int
    secret: str | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET

    @classmethod
    def with_channel(
        cls, row: Endpoint, secrets: Sequence[SigningSecret], now: datetime, **more: Any
    ) -> "ChannelWebhook":
        """Return an endpoint with the id of its channel."""
        return _extended(
            cls,
            Webhook.of(row, secrets, masked(row.headers), now),
            channel=ids.format_id("ch", row.channel_id),
            batch_wait=round(row.options.batch_wait, 3),
            payload_version=row.options.version,
            **more,
        )


class EndpointAttempt(Attempt, frozen=True):
    """One attempt to deliver an event, with the URL at its top."""

    url: str

    @classmethod
    def with_url(cls, row: LoggedAttempt) -> "EndpointAttempt":
        """Return an attempt."""
        return _extended(cls, Attempt.of(row), url=row.url)


class TestedEndpoint(Trial, frozen=True):
    """A test event, with the parts of the request and of the response at its top; values of headers are masked."""

    url: str
    headers: dict[str, str]
    body: str
    answer_headers: list[tuple[str, str]]
    answer_body: str

    @classmethod
    def with_parts(cls, test: EndpointTest) -> "TestedEndpoint":
        """Return the attempt to deliver a test event."""
        trial = Trial.of(msgspec.structs.replace(test, headers=masked(test.headers)))
        sent, answer = trial.request, trial.answer
        return _extended(
            cls,
            trial,
            url=sent.url,
            headers=sent.headers,
            body=sent.body,
            answer_headers=answer.headers,
            answer_body=answer.body,
        )


class RetriedDelivery(Retry, frozen=True):
    """Whether a delivery is due now and, if not, why."""

    retried: bool
    reason: Text

    @classmethod
    def of(cls, id_: str, error: GatepostError | None) -> "RetriedDelivery":
        """Return the result of one delivery."""
        problem = {"code": error.code, "message": error.message} if error else None
        return cls(id_, error is None, problem, error is None, error.message if error else None)


class VerifiedDelivery(ApiObject, frozen=True):
    """Whether a delivery is genuine. `secret` is the one that signed it, counted from 1 in the order given."""

    valid: bool
    reason: Text
    secret: int | None
    timestamp: When
    age_seconds: int | None

    @classmethod
    def of(cls, result: VerificationResult) -> "VerifiedDelivery":
        """Return the result of a verification."""
        at = None if result.timestamp is None else datetime.fromtimestamp(result.timestamp, UTC)
        secret = None if result.by is None else result.by + 1
        return cls(result.valid, result.reason, secret, times.format_optional_time(at), result.age)


class SentMessage(Message, frozen=True, kw_only=True):
    """A message with its id and the recipient's number at its top."""

    id: MessageId
    phone: Phone | None

    @classmethod
    def with_id(cls, row: StoredMessage, now: datetime) -> "SentMessage":
        """Return a message."""
        message = Message.of(row, now)
        return _extended(cls, message, id=message.key.id, phone=message.contact.phone)


class ExportedFile(ApiObject, frozen=True):
    """A file with messages or contacts."""

    file: str
    format: Literal["ndjson", "csv"]
    lines: int
    bytes: int


class BackupFile(ApiObject, frozen=True):
    """A backup: what it contains."""

    file: str
    bytes: int
    created_at: When
    version: str
    migration: int
    tables: int
    rows: int
    files: int
    files_bytes: int
    files_missing: int
    media: bool
    secret_key: bool


class RestoredBackup(ApiObject, frozen=True):
    """A restored backup. `unknown` is the number of messages that were waiting, and whose outcome is unknown.

    `moved` is the number of accounts that were left out, because they are in another cell now.
    """

    file: str
    created_at: When
    version: str
    migration: int
    migrated: int
    rows: int
    files: int
    unknown: int
    moved: int


class DatabaseMove(ApiObject, frozen=True):
    """A database that was moved to another server."""

    to: str
    tables: int
    rows: int
    migration: int


class LinkProgress(ApiObject, frozen=True):
    """A step of linking a phone: a code to scan or to type, the state of the connection, or that nothing happens."""

    event: Literal["connection", "qr", "pairing_code", "waiting"]
    state: str | UnsetType = UNSET
    reason: Text | UnsetType = UNSET
    code: str | UnsetType = UNSET
    until: str | UnsetType = UNSET


class LogoutRequest(ApiObject, frozen=True):
    """A request to unlink the phone of a channel, and the connection before it."""

    id: ChannelId
    phone: str
    was: str
    logout: Literal["asked"] = "asked"


class SchemaState(ApiObject, frozen=True):
    """The last migration of the database, and those that were not applied."""

    version: int
    pending: list[str]


class SealedHeaders(ApiObject, frozen=True):
    """The number of webhooks whose headers were encrypted."""

    sealed: int


class ReplacedKey(ApiObject, frozen=True):
    """The channels and webhooks whose secrets the new secret key cannot decrypt."""

    replaced: bool
    channels: list[str]
    endpoints: list[str]


class RotatedKey(ApiObject, frozen=True):
    """How many values were encrypted with the new secret key, how many no key decrypts, and where the old key is."""

    encrypted: int
    unreadable: int
    previous: Text


class InstalledEngine(ApiObject, frozen=True):
    """An engine that links phones, and whether it was downloaded now."""

    engine: str
    folder: str
    fetched: bool


class CheckResult(ApiObject, frozen=True):
    """One check: what was found, and what to do about it."""

    check: str
    state: Literal["ok", "warning", "problem"]
    found: str
    fix: str = ""
