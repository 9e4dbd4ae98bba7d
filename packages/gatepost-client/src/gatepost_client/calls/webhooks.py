"""Webhook endpoints and the log of attempts."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from gatepost_client.calls.making import act, create, fetch, pages, remove
from gatepost_client.records import Attempt
from gatepost_client.types import NewWebhook, Webhook, WebhookTest, WebhookVerification
from gatepost_client.wire import Call, Listing, changed, given


def webhooks() -> Call[list[Webhook]]:
    """All endpoints of the channel."""
    return fetch(list[Webhook], "webhooks")


def webhook(webhook_id: str) -> Call[Webhook]:
    """One endpoint."""
    return fetch(Webhook, "webhooks", webhook_id)


def create_webhook(
    url: str,
    *,
    events: Mapping[str, bool] | None = None,
    headers: Mapping[str, str] | None = None,
    operational: bool | None = None,
    ordered: bool | None = None,
    batch: Mapping[str, float] | None = None,
    rate_limit: int | None = None,
    version: int | None = None,
    signing: str | None = None,
) -> Call[NewWebhook]:
    """Make an endpoint; its `secret`, or the public key where `signing` is "v1a", is in this answer only."""
    manner = given(ordered=ordered, batch=batch, rate_limit=rate_limit, version=version, signing=signing)
    wishes = given(url=url, events=events, headers=headers, operational=operational)
    return create(NewWebhook, "webhooks", body=wishes | manner)


def change_webhook(
    webhook_id: str,
    *,
    url: str | None = None,
    events: Mapping[str, bool] | None = None,
    headers: Mapping[str, str] | None = None,
    active: bool | None = None,
    operational: bool | None = None,
    ordered: bool | None = None,
    batch: Mapping[str, float] | UnsetType | None = UNSET,
    rate_limit: int | UnsetType | None = UNSET,
    version: int | None = None,
) -> Call[Webhook]:
    """Change what is given; None takes `batch` and `rate_limit` away. A switch that is not named stays as it is."""
    wishes = given(url=url, events=events, headers=headers, active=active, operational=operational)
    manner = given(ordered=ordered, version=version) | changed(batch=batch, rate_limit=rate_limit)
    return act(Webhook, "PATCH", "webhooks", webhook_id, body=wishes | manner, repeatable=True)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Delete an endpoint."""
    return remove("webhooks", webhook_id)


def rotate_webhook_secret(
    webhook_id: str, *, overlap: int | None = None, signing: str | None = None
) -> Call[NewWebhook]:
    """Make a new `secret`, shown in this answer only; the old ones sign beside it for `overlap` seconds."""
    wishes = given(overlap=overlap, signing=signing)
    return act(NewWebhook, "POST", "webhooks", webhook_id, "rotate-secret", body=wishes)


def try_webhook(webhook_id: str, *, type: str | None = None) -> Call[WebhookTest]:
    """Post a signed example event to an endpoint now, whatever its state, and see what it answers."""
    return act(WebhookTest, "POST", "webhooks", webhook_id, "test", body=given(type=type))


def check_webhook(webhook_id: str, headers: Mapping[str, str], body: str) -> Call[WebhookVerification]:
    """Ask whether a delivery is genuine and, if not, why; `verify_webhook` does it without the gateway."""
    wishes = {"headers": dict(headers), "body": body}
    return act(WebhookVerification, "POST", "webhooks", webhook_id, "verify", body=wishes, repeatable=True)


def attempts(webhook_id: str) -> Listing[Attempt]:
    """Every attempt to tell an endpoint, the newest event first."""
    return pages(Attempt, "webhooks", webhook_id, "attempts")
