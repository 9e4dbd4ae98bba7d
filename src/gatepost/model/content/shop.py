"""Messages that show goods of a catalogue."""

from typing import Any

from gatepost.model.content.found import Found
from gatepost.model.content.parts import read_header, read_product, read_words
from gatepost.model.errors import invalid_field
from gatepost.model.limits import limit
from gatepost.model.reading import check_unlike, place, read_list, read_object, read_text

_AROUND = {"body": "interactive.body", "footer": "interactive.footer"}


def read_one_product(given: dict[str, Any], _: Found) -> dict[str, Any]:
    """One product."""
    return {"product": read_product("product", given["product"])} | read_words(given, _AROUND)


def read_product_list(given: dict[str, Any], found: Found) -> dict[str, Any]:
    """Several products, in sections."""
    words = read_words(given, _AROUND | {"catalog_id": "product.catalog_id"})
    sections = read_list("sections", given["sections"], "product_list.sections")
    read = [_section(f"sections[{i}]", section) for i, section in enumerate(sections)]
    goods = [
        (f"sections[{i}].products[{j}]", id_) for i, row in enumerate(read) for j, id_ in enumerate(row["products"])
    ]
    if not limit("product_list.products").fits(len(goods)):
        allowed = limit("product_list.products").words()
        raise invalid_field("sections", f"may have {allowed} in all sections together, but has {len(goods)}")
    check_unlike(goods, "product")
    return words | {"sections": read, "header": read_header(given["header"], found, ("text",))}


def read_catalog(given: dict[str, Any], _: Found) -> dict[str, Any]:
    """The whole catalogue, behind a button."""
    return read_words(given, _AROUND | {"thumbnail": "product.retailer_id"})


def _section(path: str, value: Any) -> dict[str, Any]:
    given = read_object(path, value, ("title", "products"))
    goods = read_list(place(path, "products"), given["products"], "product_list.products")
    return {
        "title": read_text(place(path, "title"), given["title"], "product_list.section_title"),
        "products": [read_text(f"{path}.products[{i}]", id_, "product.retailer_id") for i, id_ in enumerate(goods)],
    }
