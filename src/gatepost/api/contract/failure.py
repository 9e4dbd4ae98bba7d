"""The answer to a request that fails."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import ApiObject
from gatepost.api.openapi.error_codes import STATUS
from gatepost.model.errors import FieldProblem, GatepostError, NetworkProblem


class FailureDetails(ApiObject, frozen=True):
    """The error of a request, for programs."""

    code: Annotated[str, Meta(extra_json_schema={"enum": list(STATUS)})]
    fields: list[FieldProblem]
    retryable: Annotated[bool, Meta(description="Whether the same request may succeed later.")]
    request_id: str
    docs: Annotated[str, Meta(description="The page that explains the code.")]
    network: Annotated[NetworkProblem | UnsetType, Meta(description="The error of the network, if there is one.")] = (
        UNSET
    )


class Failure(ApiObject, frozen=True):
    """The answer to every request that fails. Codes are stable; messages are for people and may change."""

    success: Annotated[bool, Meta(extra_json_schema={"const": False})]
    message: Annotated[str, Meta(description="What is wrong, and what to do.")]
    error: FailureDetails

    @classmethod
    def of(cls, error: GatepostError, request_id: str) -> "Failure":
        """Return the answer for an error."""
        page = f"/docs/reference/errors#{error.code}"
        network = error.network or UNSET
        details = FailureDetails(error.code, list(error.fields), error.retryable, request_id, page, network)
        return cls(False, error.message, details)
