"""Errors of tools, in the words and with the codes of the REST API, and with the tool that helps."""

import msgspec

from gatepost.model.errors import FieldProblem, GatepostError
from gatepost.model.mcp_verdict import PolicyRefused

_INSTEAD = {
    "window_closed": "Use send_template with an approved template; list_templates shows them.",
    "template_not_approved": "Use a template with the status APPROVED; list_templates shows them.",
    "template_variables_mismatch": "Use preview_template to see which variables the template has.",
    "not_found": "Use an id that another tool returned on this channel.",
    "invalid_cursor": "Call the tool without a cursor to start from the beginning.",
    "unsupported_on_channel": "Use get_channel to see which types this channel can send.",
    "database_unavailable": "Nothing was changed or sent. Call the tool again shortly.",
    "overloaded": "Nothing was changed or sent. Call the tool again shortly.",
}


class ToolFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a call failed, and what to do."""

    code: str
    message: str
    retryable: bool
    instead: str | None = None
    retry_after: float | None = None
    rule: str | None = None  # of the policy
    fields: tuple[FieldProblem, ...] = ()

    @classmethod
    def of(cls, error: GatepostError) -> "ToolFailure":
        """Return the failure for an error."""
        return cls(
            error.code,
            error.verdict.reason or error.message if isinstance(error, PolicyRefused) else error.message,
            error.retryable,
            error.verdict.instead if isinstance(error, PolicyRefused) else _INSTEAD.get(error.code),
            error.retry_after,
            error.rule if isinstance(error, PolicyRefused) else None,
            error.fields,
        )
