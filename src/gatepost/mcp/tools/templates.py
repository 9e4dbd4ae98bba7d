"""Templates: list, and preview with variables. Their words come from the network, so they are from outside."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta

from gatepost.mcp.answers import Answer, Arguments, Cursor, Limit
from gatepost.mcp.cursors import read_cursor, show_cursor
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.model import ids
from gatepost.model.errors import Invalid
from gatepost.model.field_readers import check_storable
from gatepost.model.template.preview import Preview
from gatepost.model.template.slots import needs_of
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.templates import PreviewRequest, access_template
from gatepost.services.templates import preview_template as preview
from gatepost.store import templates as store
from gatepost.store.templates import StoredTemplate, TemplateFilter

TemplateId = Annotated[str, Meta(description="tpl_… of list_templates.", max_length=64)]
Variables = Annotated[
    list[Annotated[str, Meta(max_length=1024)]] | dict[str, Annotated[str, Meta(max_length=1024)]],
    Meta(description="Values in order, or by name."),
]
TextHeader = Annotated[str, Meta(description="Value of the variable of a text header.", max_length=60)]


class ListTemplates(Arguments, frozen=True):
    """Which templates; all filters have to fit."""

    status: Annotated[str, Meta(description="E.g. APPROVED.", max_length=32)] | None = None
    query: Annotated[str, Meta(description="A part of the name.", min_length=1, max_length=64)] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class TemplateItem(Answer, frozen=True):
    """A template in one language, as the recipient sees it with its example values."""

    id: str
    name: str
    language: str
    category: str
    status: str
    body: Outside | None = None
    header: Outside | None = None
    footer: Outside | None = None
    buttons: tuple[Outside, ...] = ()
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: StoredTemplate) -> "TemplateItem":
        """Return a template with its text and the names of its variables."""
        template = row.as_template()
        header, body, footer = (template.component(type_) or {} for type_ in ("HEADER", "BODY", "FOOTER"))
        return cls(
            id=ids.format_id("tpl", row.id),
            name=row.name,
            language=row.language,
            category=row.category,
            status=row.status,
            body=outside(body.get("text")),
            header=outside(header.get("text") or header.get("format")),
            footer=outside(footer.get("text")),
            buttons=_buttons(preview(row, PreviewRequest())),
            variables=tuple(str(name) for name in needs_of(template).body),
        )


class Templates(Answer, frozen=True):
    """A page of templates."""

    templates: list[TemplateItem]
    next: str | None = None


@tool("List templates", READING, example={"status": "APPROVED"})
async def list_templates(given: ListTemplates, call: Call) -> Templates:
    """List the templates of this channel. An APPROVED one can be sent when the 24-hour window is closed."""
    if not NETWORK_KINDS[call.caller.kind].capabilities.templates:
        raise Invalid("This channel has no templates: it can send free text at any time.", "unsupported_on_channel")
    check_storable("status", given.status or "")
    check_storable("query", given.query or "")
    before = read_cursor("list_templates", given.cursor, UUID)
    filters = TemplateFilter(status=given.status.upper() if given.status else None, name=given.query)
    rows = await store.list_templates(call.db, call.channel_id, filters, before, given.limit)
    following = show_cursor("list_templates", rows[-1].id) if len(rows) == given.limit else None
    return Templates([TemplateItem.of(row) for row in rows], following)


class PreviewTemplate(Arguments, frozen=True):
    """Which template, with which values."""

    template: TemplateId
    variables: Variables | None = None
    header: TextHeader | None = None


class TemplatePreview(Answer, frozen=True):
    """A template as the recipient will see it."""

    body: Outside | None = None
    header: Outside | None = None
    footer: Outside | None = None
    buttons: tuple[Outside, ...] = ()

    @classmethod
    def of(cls, shown: Preview) -> "TemplatePreview":
        """Return the texts of a preview."""
        header: Any = shown.header
        return cls(
            outside(shown.body),
            outside(header.text or header.type) if header else None,
            outside(shown.footer),
            _buttons(shown),
        )


@tool(
    "Preview a template",
    READING,
    example={"template": "tpl_0199…", "variables": ["Ana", "4711"]},
)
async def preview_template(given: PreviewTemplate, call: Call) -> TemplatePreview:
    """Return a template with its variables filled in; without variables, with its examples. Nothing is sent."""
    template = await access_template(call.db, call.channel_id, given.template)
    return TemplatePreview.of(preview(template, PreviewRequest(given.variables, given.header)))


def _buttons(shown: Preview) -> tuple[Outside, ...]:
    return tuple(Outside(button.text or button.type, True) for button in shown.buttons)
