"""Webhook endpoints and the log of attempts."""

from collections.abc import Mapping

from gatepost.client.calls.making import act, fetch, pages, remove
from gatepost.client.results import Attempt, Webhook
from gatepost.client.wire import Call, Listing, given


def webhooks() -> Call[list[Webhook]]:
    """All endpoints of the channel."""
    return fetch(list[Webhook], "webhooks")


def webhook(webhook_id: str) -> Call[Webhook]:
    """One endpoint."""
    return fetch(Webhook, "webhooks", webhook_id)


def create_webhook(
    url: str, *, events: Mapping[str, bool] | None = None, headers: Mapping[str, str] | None = None
) -> Call[Webhook]:
    """Make an endpoint; its `secret` is in this answer only."""
    return act(Webhook, "POST", "webhooks", body=given(url=url, events=events, headers=headers))


def change_webhook(
    webhook_id: str,
    *,
    url: str | None = None,
    events: Mapping[str, bool] | None = None,
    headers: Mapping[str, str] | None = None,
    active: bool | None = None,
) -> Call[Webhook]:
    """Change what is given; a switch that is not named stays as it is."""
    wishes = given(url=url, events=events, headers=headers, active=active)
    return act(Webhook, "PATCH", "webhooks", webhook_id, body=wishes, repeatable=True)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Delete an endpoint."""
    return remove("webhooks", webhook_id)


def attempts(webhook_id: str) -> Listing[Attempt]:
    """Every attempt to tell an endpoint, the newest event first."""
    return pages(Attempt, "webhooks", webhook_id, "attempts")
