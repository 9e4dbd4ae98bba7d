"""Templates: read, create, change, delete, preview."""

from collections.abc import Mapping, Sequence
from typing import Any

from gatepost_client.calls.builders import act, create, fetch, pages, remove
from gatepost_client.types import Preview, Template, TemplateCheck, TemplateSync
from gatepost_client.wire import Call, Listing, given


def templates(
    *, status: str | None = None, category: str | None = None, language: str | None = None, name: str | None = None
) -> Listing[Template]:
    """Return the channel's templates, the newest first."""
    return pages(
        Template, "templates", query={"status": status, "category": category, "language": language, "name": name}
    )


def template(template_id: str) -> Call[Template]:
    """Return one template."""
    return fetch(Template, "templates", template_id)


def create_template(
    name: str,
    language: str,
    category: str,
    components: Sequence[Mapping[str, Any]],
    *,
    parameter_format: str | None = None,
    message_send_ttl_seconds: int | None = None,
) -> Call[Template]:
    """Submit a template for review."""
    return create(Template, "templates", body=given(**locals()))


def check_template(
    name: str,
    language: str,
    category: str,
    components: Sequence[Mapping[str, Any]],
    *,
    parameter_format: str | None = None,
    message_send_ttl_seconds: int | None = None,
) -> Call[TemplateCheck]:
    """Return what the network would reject in a template, and its preview. Nothing is submitted."""
    return act(TemplateCheck, "POST", "templates", "check", body=given(**locals()), repeatable=True)


def edit_template(
    template_id: str,
    *,
    components: Sequence[Mapping[str, Any]] | None = None,
    category: str | None = None,
    message_send_ttl_seconds: int | None = None,
) -> Call[Template]:
    """Change a template, which is then reviewed again. Not retried: the network counts edits."""
    fields = given(components=components, category=category, message_send_ttl_seconds=message_send_ttl_seconds)
    return act(Template, "PATCH", "templates", template_id, body=fields)


def delete_template(template_id: str) -> Call[None]:
    """Delete a template in one language."""
    return remove("templates", template_id)


def sync_templates() -> Call[TemplateSync]:
    """Read all templates of the business account from the network."""
    return act(TemplateSync, "POST", "templates", "sync", repeatable=True)


def preview_template(
    template_id: str, *, variables: Sequence[str] | Mapping[str, str] | None = None, header: str | None = None
) -> Call[Preview]:
    """Return a template with its variables filled in."""
    fields = given(variables=variables, header=header)
    return act(Preview, "POST", "templates", template_id, "preview", body=fields, repeatable=True)
