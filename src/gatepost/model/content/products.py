"""Messages that show products of a catalogue."""

from typing import Annotated, Any

from gatepost.model.content.fields import MessageType, Part, items, text
from gatepost.model.content.parts import Body, CatalogId, Footer, ProductId, ProductRef, TextHeader
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike
from gatepost.model.limits import limit


class ProductSection(Part, frozen=True):
    """A section of a product list."""

    title: Annotated[str, text("product_list.section_title")]
    products: Annotated[list[ProductId], items("product_list.products")]


def _check_sections(path: str, sections: list[Any]) -> None:
    products = [
        (f"{path}[{i}].products[{j}]", id_)
        for i, section in enumerate(sections)
        for j, id_ in enumerate(section["products"])
    ]
    if not limit("product_list.products").fits(len(products)):
        allowed = limit("product_list.products").words()
        raise invalid_field(path, f"may have {allowed} in all sections in total, but has {len(products)}")
    check_unlike(products, "product")


ProductSections = Annotated[list[ProductSection], items("product_list.sections", _check_sections)]

TYPES = {
    "product": MessageType(
        "A product of a catalogue",
        required={"product": ProductRef},
        optional={"body": Body, "footer": Footer},
        example={"product": {"catalog_id": "194836987003835", "retailer_id": "rye"}, "body": "Still warm"},
    ),
    "product_list": MessageType(
        "Several products",
        required={"body": Body, "header": TextHeader, "catalog_id": CatalogId, "sections": ProductSections},
        optional={"footer": Footer},
        example={
            "body": "What we baked today",
            "header": {"type": "text", "text": "Bread"},
            "catalog_id": "194836987003835",
            "sections": [{"title": "Dark", "products": ["rye", "spelt"]}],
        },
    ),
    "catalog": MessageType(
        "The whole catalogue",
        required={"body": Body},
        optional={"thumbnail": ProductId, "footer": Footer},
        example={"body": "Everything that we bake", "thumbnail": "rye"},
    ),
}
