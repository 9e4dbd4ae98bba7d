"""Products, product lists and the catalog."""

from typing import Any

from gatepost_sandbox.messages.fields import as_object, need_list, need_object, need_one_of, need_text, refuse
from gatepost_sandbox.messages.limits import LIMITS

_ACTION = "interactive.action"


def check_product(action: dict[str, Any]) -> tuple[()]:
    """Check one product of a catalog."""
    need_text(action, "catalog_id", _ACTION)
    need_text(action, "product_retailer_id", _ACTION)
    return ()


def check_product_list(action: dict[str, Any]) -> tuple[()]:
    """Check the sections of a product list."""
    need_text(action, "catalog_id", _ACTION)
    check_sections(action, _ACTION, "interactive.product_list")
    return ()


def check_sections(holder: dict[str, Any], path: str, limits: str) -> None:
    """Check titles and sizes of product sections."""
    products = 0
    for index, section in enumerate(need_list(holder, "sections", path, f"{limits}.sections")):
        place = f"{path}.sections[{index}]"
        inside = as_object(section, place)
        need_text(inside, "title", place, f"{limits}.section.title")
        items = need_list(inside, "product_items", place)
        for number, item in enumerate(items):
            item_path = f"{place}.product_items[{number}]"
            need_text(as_object(item, item_path), "product_retailer_id", item_path)
        products += len(items)
    if products > LIMITS[f"{limits}.products"]:
        refuse(f"{path}.sections", f"must have at most {LIMITS[f'{limits}.products']} products in all")


def check_catalog(action: dict[str, Any]) -> tuple[()]:
    """Check the link to the catalog, with an optional image of one product."""
    need_one_of(action, "name", _ACTION, ("catalog_message",))
    if action.get("parameters") is not None:
        parameters = need_object(action, "parameters", _ACTION)
        need_text(parameters, "thumbnail_product_retailer_id", f"{_ACTION}.parameters")
    return ()
