"""Templates, and the decisions about them."""

from typing import Any, Literal

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody

from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.network import Network
from gatepost_sandbox.templates.template import Category, Quality, Reason, Status, Template
from gatepost_sandbox.world import World

Decision = Literal["approve", "reject", "pause", "pace", "resume", "disable"]

# The statuses that allow each decision.
FROM: dict[Decision, tuple[Status, ...]] = {
    "approve": ("PENDING", "REJECTED"),
    "reject": ("PENDING", "APPROVED", "PAUSED"),
    "pause": ("APPROVED",),
    "pace": ("APPROVED",),
    "resume": ("PAUSED",),
    "disable": ("APPROVED", "PAUSED"),
}


class TemplateDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision about a template."""

    decision: Decision
    reason: Reason = "INVALID_FORMAT"
    recommendation: str | None = None


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The quality rating of a template."""

    quality: Quality


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new category, now or a day after a warning."""

    category: Category
    impending: bool = False


def find_template(network: Network, template_id: str) -> Template:
    """Return the template with this id, or a 404."""
    template = network.templates.get(template_id)
    if template is None:
        raise not_found("template", template_id)
    return template


def decide(network: Network, template: Template, verdict: TemplateDecision) -> Template:
    """Carry out a decision."""
    if template.status not in FROM[verdict.decision]:
        raise ControlError(
            409, f"a template with status {template.status} does not allow the decision {verdict.decision}"
        )
    review = network.templates.review
    if verdict.decision == "reject":
        return review.reject(template, verdict.reason, verdict.recommendation)
    acts = {
        "approve": review.approve,
        "pause": review.pause,
        "pace": review.pause_for_pacing,
        "resume": review.resume,
        "disable": review.disable,
    }
    return acts[verdict.decision](template)


@get("/control/templates", sync_to_thread=False)
@changes
def list_templates(world: NamedDependency[World], waba_id: FromQuery[str | None] = None) -> list[dict[str, Any]]:
    """List the templates of one account, or of all."""
    network = world.network
    accounts = dict.fromkeys(number.spec.waba_id for number in network.numbers.values())
    wanted = [waba_id] if waba_id is not None else list(accounts)
    return [msgspec.structs.asdict(template) for one in wanted for template in network.templates.of(one)]


@post("/control/templates/{template_id:str}/review", status_code=200)
@changes
async def review_template(
    world: NamedDependency[World], template_id: FromPath[str], data: JSONBody[TemplateDecision]
) -> dict[str, Any]:
    """Decide: {"decision": approve, reject, pause, pace, resume or disable, "reason"?, "recommendation"?}."""
    template = find_template(world.network, template_id)
    return msgspec.structs.asdict(decide(world.network, template, data))


@post("/control/templates/{template_id:str}/quality", status_code=200)
@changes
async def rate_template(
    world: NamedDependency[World], template_id: FromPath[str], data: JSONBody[Rating]
) -> dict[str, Any]:
    """Rate a template; RED pauses it for 3 h, then 6 h, then disables it."""
    template = find_template(world.network, template_id)
    return msgspec.structs.asdict(world.network.templates.review.rate(template, data.quality))


@post("/control/templates/{template_id:str}/category", status_code=200)
@changes
async def move_template(
    world: NamedDependency[World], template_id: FromPath[str], data: JSONBody[Move]
) -> dict[str, Any]:
    """Move a template to another category: {"category", "impending"?: a day after a warning}."""
    template, review = find_template(world.network, template_id), world.network.templates.review
    moved = review.warn_move(template, data.category) if data.impending else review.move(template, data.category)
    return msgspec.structs.asdict(moved)


ROUTES = (list_templates, review_template, rate_template, move_template)
