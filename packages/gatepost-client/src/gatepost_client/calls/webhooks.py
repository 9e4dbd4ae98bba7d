"""Webhook endpoints and the log of attempts."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from gatepost_client.calls.builders import act, create, fetch, pages, remove
from gatepost_client.types import Attempt, NewWebhook, Webhook, WebhookHour, WebhookTest, WebhookVerification
from gatepost_client.wire import Call, Listing, changed, given


def webhooks() -> Call[list[Webhook]]:
    """Return all endpoints of the channel."""
    return fetch(list[Webhook], "webhooks")


def webhook(webhook_id: str) -> Call[Webhook]:
    """Return one endpoint."""
    return fetch(Webhook, "webhooks", webhook_id)


def create_webhook(
    url: str,
    *,
    events: Mapping[str, bool] | None = None,
    headers: Mapping[str, str] | None = None,
    ordered: bool | None = None,
    batch: Mapping[str, float] | None = None,
    rate_limit: int | None = None,
    version: int | None = None,
    signing: str | None = None,
) -> Call[NewWebhook]:
    """Create an endpoint. Only this response has its `secret`, or the public key if `signing` is "v1a"."""
    options = given(ordered=ordered, batch=batch, rate_limit=rate_limit, version=version, signing=signing)
    fields = given(url=url, events=events, headers=headers)
    return create(NewWebhook, "webhooks", body=fields | options)


def change_webhook(
    webhook_id: str,
    *,
    url: str | None = None,
    events: Mapping[str, bool] | None = None,
    headers: Mapping[str, str] | None = None,
    active: bool | None = None,
    ordered: bool | None = None,
    batch: Mapping[str, float] | UnsetType | None = UNSET,
    rate_limit: int | UnsetType | None = UNSET,
    version: int | None = None,
) -> Call[Webhook]:
    """Change the given fields; None clears `batch` and `rate_limit`. Other event types keep their value."""
    fields = given(url=url, events=events, headers=headers, active=active)
    options = given(ordered=ordered, version=version) | changed(batch=batch, rate_limit=rate_limit)
    return act(Webhook, "PATCH", "webhooks", webhook_id, body=fields | options, repeatable=True)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Delete an endpoint."""
    return remove("webhooks", webhook_id)


def rotate_webhook_secret(
    webhook_id: str, *, overlap: int | None = None, signing: str | None = None
) -> Call[NewWebhook]:
    """Create a new `secret`, which only this response has; the old ones stay valid for `overlap` seconds."""
    fields = given(overlap=overlap, signing=signing)
    return act(NewWebhook, "POST", "webhooks", webhook_id, "rotate-secret", body=fields)


def try_webhook(webhook_id: str, *, type: str | None = None) -> Call[WebhookTest]:
    """Post a signed test event to an endpoint, whatever its state, and return its response."""
    return act(WebhookTest, "POST", "webhooks", webhook_id, "test", body=given(type=type))


def check_webhook(webhook_id: str, headers: Mapping[str, str], body: str) -> Call[WebhookVerification]:
    """Ask the gateway whether a delivery is genuine and, if not, why; `verify_webhook` checks it locally."""
    fields = {"headers": dict(headers), "body": body}
    return act(WebhookVerification, "POST", "webhooks", webhook_id, "verify", body=fields, repeatable=True)


def attempts(webhook_id: str) -> Listing[Attempt]:
    """List the delivery attempts of an endpoint, newest event first."""
    return pages(Attempt, "webhooks", webhook_id, "attempts")


def webhook_figures(webhook_id: str) -> Call[list[WebhookHour]]:
    """Return the attempts and latencies of an endpoint by hour, over the last 24 hours."""
    return fetch(list[WebhookHour], "webhooks", webhook_id, "figures")
