"""Objects as the command line shows them. Scripts rely on the names and their order."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gatepost.admin.accounts import AccountUsage
from gatepost.admin.signing import SigningSecret, live_secrets
from gatepost.model import ids, times
from gatepost.model.account import Plan
from gatepost.model.delivery import explain_attempt, masked
from gatepost.model.signing import public_key
from gatepost.store.accounts import Account, User
from gatepost.store.channels import ChannelConfig
from gatepost.store.deliveries.log import LoggedAttempt
from gatepost.store.endpoints import Endpoint
from gatepost.store.keys import ApiKey
from gatepost.webhooks.endpoint_test import EndpointTest
from gatepost.webhooks.verification import VerificationResult

View = dict[str, Any]


def account_view(account: Account) -> View:
    return {
        "id": ids.format_id("acc", account.id),
        "name": account.name,
        "plan": account.plan,
        "suspended": account.suspended,
        "trial_ends_at": times.format_time(account.trial_ends_at),
        "addons": list(account.addons),
        "created_at": times.format_time(account.created_at),
    }


def usage_view(account: Account, usage: AccountUsage) -> View:
    return {
        "account": ids.format_id("acc", account.id),
        "plan": usage.plan,
        "month": f"{usage.month:%Y-%m}",
        "used": usage.used,
        "limit": usage.limit,
        "remaining": usage.remaining,
        "storage_used": usage.storage_used,
        "storage_limit": usage.storage_limit,
    }


def plan_views(plans: Mapping[str, Plan]) -> list[View]:
    return [
        {
            "id": name,
            "title": plan.title,
            "messages_per_month": plan.messages_per_month,
            "storage_bytes": plan.storage_bytes,
        }
        for name, plan in plans.items()
    ]


def user_view(user: User) -> View:
    return {
        "id": ids.format_id("usr", user.id),
        "account": ids.format_id("acc", user.account_id),
        "email": user.email,
        "role": user.role,
        "created_at": times.format_time(user.created_at),
    }


def channel_view(channel: ChannelConfig) -> View:
    return {
        "id": ids.format_id("ch", channel.id),
        "account": ids.format_id("acc", channel.account_id),
        "kind": channel.kind,
        "phone": channel.phone,
        "name": channel.name,
        "connection": channel.connection,
        "reason": channel.reason,
        "network": channel.network,
        "limits": channel.limits,
        "created_at": times.format_time(ids.time_of(channel.id)),
    }


def key_view(key: ApiKey) -> View:
    return {
        "id": ids.format_id("key", key.id),
        "channel": ids.format_id("ch", key.channel_id),
        "name": key.name,
        "hint": key.hint,
        "scopes": list(key.scopes),
        "created_at": times.format_time(key.created_at),
        "expires_at": times.format_optional_time(key.expires_at),
        "revoked_at": times.format_optional_time(key.revoked_at),
        "last_used_at": times.format_optional_time(key.last_used_at),
    }


def endpoint_view(endpoint: Endpoint) -> View:
    return {
        "id": ids.format_id("we", endpoint.id),
        "channel": ids.format_id("ch", endpoint.channel_id),
        "url": endpoint.url,
        "events": list(endpoint.events),
        "headers": masked(endpoint.headers),
        "ordered": endpoint.options.ordered,
        "batch": endpoint.options.batch,
        "batch_wait": round(endpoint.options.batch_wait, 3),
        "rate_limit": endpoint.options.rate,
        "payload_version": endpoint.options.version,
        "state": endpoint.state,
        "reason": endpoint.reason,
        "created_at": times.format_time(endpoint.created_at),
        "updated_at": times.format_time(endpoint.updated_at),
    }


def secrets_view(kept: Sequence[SigningSecret], now: datetime) -> View:
    """Return the kind of signature and the live secrets with their expiry."""
    return {
        "signing": kept[0].signing,
        "public_key": public_key(kept[0].secret),
        "secrets": [
            {"signing": one.signing, "until": times.format_optional_time(one.until)} for one in live_secrets(kept, now)
        ],
    }


def endpoint_test_view(test: EndpointTest) -> View:
    """Return a test event: what was sent, and what came back."""
    answer = test.response
    return {
        "delivered": test.delivered,
        "at": times.format_time(test.at),
        "status": answer.status,
        "latency_ms": round(answer.latency_ms, 1),
        "error": answer.error,
        "url": test.url,
        "headers": masked(test.headers),
        "body": test.body.decode(),
        "answer_headers": [list(pair) for pair in answer.headers],
        "answer_body": answer.body.decode("utf-8", "replace"),
    }


def verification_view(result: VerificationResult) -> View:
    """Return the result of a verification; secrets are counted from 1 in the order given."""
    at = None if result.timestamp is None else datetime.fromtimestamp(result.timestamp, UTC)
    return {
        "valid": result.valid,
        "reason": result.reason,
        "secret": None if result.by is None else result.by + 1,
        "timestamp": times.format_optional_time(at),
        "age_seconds": result.age,
    }


def attempt_view(attempt: LoggedAttempt) -> View:
    return {
        "event": ids.format_id("evt", attempt.event_id),
        "number": attempt.number,
        "at": times.format_time(attempt.at),
        "status": attempt.status,
        "latency_ms": round(attempt.latency_ms, 1),
        "error": explain_attempt(attempt.status, attempt.error),
        "url": attempt.url,
    }
