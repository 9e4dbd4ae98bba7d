"""The content of messages that show products of a catalogue."""

from typing import Any

from gatepost.model.content.parts import read_header, read_parts, read_product, read_words
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, place, read_list, read_object, read_text, read_texts
from gatepost.model.limits import limit
from gatepost.model.problem_collector import read_each

_AROUND = {"body": "interactive.body", "footer": "interactive.footer"}


def read_one_product(given: dict[str, Any], _: MessageReferences) -> dict[str, Any]:
    """Read the content of a single product."""
    return read_parts((_product, given["product"]), (read_words, given, _AROUND))


def _product(value: Any) -> dict[str, Any]:
    return {"product": read_product("product", value)}


def read_product_list(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of several products in sections."""
    words = _AROUND | {"catalog_id": "product.catalog_id"}
    return read_parts((read_words, given, words), (_sections, given["sections"]), (_header, given["header"], found))


def _header(value: Any, found: MessageReferences) -> dict[str, Any]:
    return {"header": read_header(value, found, ("text",))}


def _sections(value: Any) -> dict[str, Any]:
    read = read_each("sections", read_list("sections", value, "product_list.sections"), _section)
    goods = [
        (f"sections[{i}].products[{j}]", id_) for i, row in enumerate(read) for j, id_ in enumerate(row["products"])
    ]
    if not limit("product_list.products").fits(len(goods)):
        allowed = limit("product_list.products").words()
        raise invalid_field("sections", f"may have {allowed} in all sections in total, but has {len(goods)}")
    check_unlike(goods, "product")
    return {"sections": read}


def read_catalog(given: dict[str, Any], _: MessageReferences) -> dict[str, Any]:
    """Read the content of a button that opens the whole catalogue."""
    return read_words(given, _AROUND | {"thumbnail": "product.retailer_id"})


def _section(path: str, value: Any) -> dict[str, Any]:
    given = read_object(path, value, ("title", "products"))
    title = {"title": "product_list.section_title"}
    return read_parts((read_texts, path, given, title), (_products, place(path, "products"), given["products"]))


def _products(path: str, value: Any) -> dict[str, Any]:
    goods = read_list(path, value, "product_list.products")
    return {"products": read_each(path, goods, read_text, name="product.retailer_id")}
