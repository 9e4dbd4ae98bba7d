"""Each type of message takes what is its own and refuses everything else, by the very name of the place."""

import copy
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatepost.model.content.emoji import is_emoji
from gatepost.model.errors import Invalid
from gatepost.model.message import check_send
from gatepost.model.send_request import MESSAGE_TYPES, TYPES, SendRequest
from gatepost.networks.kinds import CLOUD, QR
from tests.for_each import for_each

from .sends import CARD, FULLEST, LINK, MEDIA, NOW, PHONE, ROW, SMALLEST, TEXT_HEADER, USE, check, content, refusal

COMMON = ("phone", "type", "reply_to", "client_ref", "send_at", "ttl", "priority", "on_unknown", "contact")
OWN = [field for field in SendRequest.__struct_fields__ if field not in COMMON]
Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the texts, numbers and flags of a request are."""
    if isinstance(value, dict):
        for name, field in value.items():
            yield from leaves(field, (*path, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path


def nodes(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a request, the objects and lists included."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, field in inner:
        yield from nodes(field, (*path, name))


def put(fields: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(fields)
    aim = changed
    for step in path[:-1]:
        aim = aim[step]
    aim[path[-1]] = value
    return dict(changed)


def get(fields: Any, path: Path) -> Any:
    for step in path:
        fields = fields[step]
    return fields


def shown(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


EVERY = [(type_, path) for type_, fields in FULLEST.items() for path in nodes(fields)]
TEXTS = [(t, p) for t, fields in FULLEST.items() for p in leaves(fields) if isinstance(get(fields, p), str)]


def test_the_examples_are_of_every_type_and_use_every_field() -> None:
    assert set(SMALLEST) == set(FULLEST) == set(TYPES) == set(MESSAGE_TYPES)
    for type_, kind in MESSAGE_TYPES.items():
        assert set(SMALLEST[type_]) == set(kind.required)
        assert set(FULLEST[type_]) == set(kind.fields) - {"fallback"}
    assert {field for kind in MESSAGE_TYPES.values() for field in kind.fields} | {"preview_url"} == set(OWN)
    assert set(TYPES) == CLOUD.capabilities.types | QR.capabilities.types


@for_each("type_", TYPES)
def test_what_goes_in_is_what_is_kept(type_: str) -> None:
    assert content(type_, SMALLEST[type_]) == SMALLEST[type_]
    assert content(type_, FULLEST[type_]) == FULLEST[type_]


@for_each("type_", TYPES)
def test_a_null_counts_as_not_given(type_: str) -> None:
    nulls = dict.fromkeys(OWN)
    assert content(type_, nulls | SMALLEST[type_]) == SMALLEST[type_]


def test_a_null_inside_counts_as_not_given_too() -> None:
    assert content("location", {"location": {"latitude": 1, "longitude": 2, "name": None}}) == {
        "location": {"latitude": 1, "longitude": 2}
    }
    assert content("image", {"media": MEDIA | {"link": None}}) == {"media": MEDIA}


@for_each("type_", TYPES)
def test_what_is_required_is_asked_for_by_name(type_: str) -> None:
    for field in SMALLEST[type_]:
        lacking = {name: value for name, value in SMALLEST[type_].items() if name != field}
        refused = refusal(type_, lacking)
        assert refused.fields[0].field == field
        assert f"is required for type {type_}; give" in refused.message


@for_each("type_", TYPES)
def test_fields_of_other_types_are_refused(type_: str) -> None:
    anything = {field: value for fields in FULLEST.values() for field, value in fields.items()} | {"fallback": "text"}
    own = MESSAGE_TYPES[type_].fields if type_ in MESSAGE_TYPES else ("body", "preview_url")
    for field in set(OWN) - set(own):
        refused = refusal(type_, FULLEST[type_] | {field: anything[field]})
        assert refused.message == f"{field}: does not belong to type {type_}, which has {', '.join(own)}"


@for_each(("type_", "path"), TEXTS)
def test_no_text_may_hold_nul_or_half_a_pair(type_: str, path: Path) -> None:
    for bad in ("x\x00", "x\ud800"):
        refused = refusal(type_, put(FULLEST[type_], path, bad))
        assert refused.code == "invalid_field"
        assert refused.fields[0].field == shown(path)


@for_each(
    ("type_", "path"), [(t, p) for t, p in EVERY if isinstance(get(FULLEST[t], p), dict) and p[-1] != "variables"]
)
def test_an_unknown_field_is_refused_wherever_it_is(type_: str, path: Path) -> None:
    refused = refusal(type_, put(FULLEST[type_], (*path, "colour"), "red"))
    assert refused.fields[0].field == f"{shown(path)}.colour"
    assert "is not a field of this object" in refused.message


@for_each(("type_", "path"), EVERY)
def test_a_value_of_the_wrong_kind_is_refused_where_it_is(type_: str, path: Path) -> None:
    right = get(FULLEST[type_], path)
    for wrong in (True, 7, 1.5, [], {}, "", [[]], object()):
        same = isinstance(wrong, bool) == isinstance(right, bool) and isinstance(wrong, type(right))
        number = isinstance(right, int | float) and not isinstance(right, bool) and isinstance(wrong, int | float)
        if same or (number and not isinstance(wrong, bool)) or shown(path) in _FREE:
            continue
        assert refusal(type_, put(FULLEST[type_], path, wrong)).fields[0].field.startswith(shown(path)), wrong


_FREE = {"preview_url", "template.variables", "template.header", "body"}  # checked elsewhere, or of several kinds

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.sampled_from(EVERY), json_values)
def test_nothing_breaks_the_check(where: tuple[str, Path], value: Any) -> None:
    type_, path = where
    fields = put(FULLEST[type_], path, value)
    try:
        request = msgspec.convert({"phone": PHONE, "type": type_} | fields, SendRequest)
        message = check_send(request, NOW)
    except (Invalid, msgspec.ValidationError) as error:
        msgspec.json.encode(str(error))
        return
    assert "\x00" not in message.content
    assert isinstance(msgspec.json.decode(message.content), dict)


# -- what a message refers to -----------------------------------------------------------------------------------------


def test_a_text_refers_to_nothing() -> None:
    message = check("text", SMALLEST["text"])
    assert (message.media_ids, message.links, message.target, message.template, message.freeform) == (
        (),
        (),
        None,
        None,
        True,
    )


def test_files_and_addresses_are_found() -> None:
    message = check("image", {"media": {"id": "med_" + "A" * 32}})
    assert message.media_ids == ("med_" + "a" * 32,)
    assert msgspec.json.decode(message.content) == {"media": MEDIA}
    assert check("image", {"media": LINK}).links == (LINK["link"],)
    assert check("buttons", FULLEST["buttons"]).media_ids == (MEDIA["id"],)
    assert check("cta_url", FULLEST["cta_url"]).links == (LINK["link"],)
    assert check("template", FULLEST["template"]).media_ids == (MEDIA["id"],)


def test_a_reaction_names_its_target() -> None:
    message = check("reaction", {"reaction": {"message_id": "a" * 32, "emoji": "❤️"}})
    assert message.target == UUID("a" * 32)
    assert msgspec.json.decode(message.content)["reaction"]["message_id"] == "A" * 32
    assert message.freeform


def test_a_reaction_does_not_answer() -> None:
    refused = refusal("reaction", SMALLEST["reaction"] | {"reply_to": "0" * 32})
    assert refused.message.startswith("reply_to: does not belong to type reaction")


def test_only_a_template_may_leave_at_any_time() -> None:
    assert [type_ for type_ in TYPES if not check(type_, SMALLEST[type_]).freeform] == ["template"]


def test_voice_is_kept_only_where_it_is_so() -> None:
    assert content("audio", {"media": MEDIA, "voice": False}) == {"media": MEDIA}
    assert content("text", {"body": "x", "preview_url": False}) == {"body": "x"}


def test_a_contact_with_one_name_gets_the_second_that_the_network_wants() -> None:
    card = CARD | {"name": {"formatted_name": "Anna"}}
    kept = content("contacts", {"contacts": [card]})["contacts"][0]["name"]
    assert kept == {"formatted_name": "Anna", "first_name": "Anna"}


# -- kinds of channel -------------------------------------------------------------------------------------------------


@for_each("type_", TYPES)
def test_a_channel_carries_its_types_only(type_: str) -> None:
    for can in (QR.capabilities, CLOUD.capabilities):
        if type_ in can.types:
            check(type_, SMALLEST[type_], can=can)
            continue
        refused = refusal(type_, SMALLEST[type_], can=can)
        assert (refused.code, refused.fields[0].field) == ("unsupported_on_channel", "type")
        assert ("fallback" in refused.message) == (type_ in can.as_text)


@pytest.mark.parametrize("type_", ["buttons", "list", "cta_url"])
def test_choices_may_go_as_text_where_the_caller_says_so(type_: str) -> None:
    fields = SMALLEST[type_] | {"fallback": "text"}
    assert content(type_, fields, can=QR.capabilities) == fields
    assert content(type_, fields, can=CLOUD.capabilities) == SMALLEST[type_]
    with_picture = fields | {"header": {"type": "image", "media": MEDIA}}
    if type_ != "list":
        assert refusal(type_, with_picture, can=QR.capabilities).fields[0].field == "header.type"
        check(type_, with_picture, can=CLOUD.capabilities)
    assert content(type_, fields | {"header": TEXT_HEADER}, can=QR.capabilities)["header"] == TEXT_HEADER


def test_what_cannot_go_as_text_does_not() -> None:
    assert (
        refusal("product", SMALLEST["product"] | {"fallback": "text"}, can=QR.capabilities).code
        == "unsupported_on_channel"
    )


# -- rules with edges of their own ------------------------------------------------------------------------------------


@for_each(
    "link",
    [
        "ftp://example.com/a",
        "example.com/a",
        "//example.com/a",
        "https://",
        "https:///a",
        "javascript:alert(1)",
        "https://exa mple.com",
        "https://example.com/a b",
        "https://example.com/\n",
        "https://[::1",
        "https://example.com:99999/",
        "https://example.com:0/",
        "file:///etc/passwd",
        "HTTPS",
    ],
)
def test_what_is_no_address_is_refused(link: str) -> None:
    for type_, path in (("image", ("media",)), ("cta_url", ("cta",)), ("contacts", ("contacts", 0, "urls", 0))):
        field = "link" if type_ == "image" else "url"
        fields = (
            put(FULLEST[type_], path, {"link": link}) if type_ == "image" else put(FULLEST[type_], (*path, field), link)
        )
        refused = refusal(type_, fields)
        assert refused.fields[0].field == f"{shown(path)}.{field}"


@pytest.mark.parametrize("link", ["http://example.com", "HTTPS://example.com/ä?b=%20", "https://[::1]:8080/x"])
def test_an_address_may_be_http_or_https(link: str) -> None:
    assert check("image", {"media": {"link": link}}).links == (link,)


@pytest.mark.parametrize("media", [{}, MEDIA | LINK, {"id": None, "link": None}])
def test_a_file_has_one_source(media: dict[str, Any]) -> None:
    assert "either" in refusal("image", {"media": media}).message


@for_each("id_", ["", "med_", "med_" + "a" * 31, "med_" + "a" * 33, "a" * 32, "msg_" + "a" * 32, "123"])
def test_a_file_is_named_by_our_id(id_: str) -> None:
    refused = refusal("image", {"media": {"id": id_}})
    assert (refused.fields[0].field, "POST /api/v1/media" in refused.message) == ("media.id", True)


@pytest.mark.parametrize("name", ["latitude", "longitude"])
def test_places_are_numbers(name: str) -> None:
    for wrong in ("1.5", True, float("nan"), float("inf"), -float("inf"), 10**400):
        assert (
            refusal("location", put(SMALLEST["location"], ("location", name), wrong)).fields[0].field
            == f"location.{name}"
        )


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"buttons": [{"id": "a", "title": "A"}, {"id": "a", "title": "B"}]}, "buttons[1].id"),
        ({"buttons": [{"id": "a", "title": "A"}, {"id": "b", "title": "A"}]}, "buttons[1].title"),
    ],
)
def test_buttons_are_unlike_each_other(fields: dict[str, Any], path: str) -> None:
    refused = refusal("buttons", {"body": "x"} | fields)
    assert refused.fields[0].field == path
    assert "is the same as buttons[0]" in refused.message


def test_rows_are_unlike_each_other() -> None:
    two = [{"title": "A", "rows": [ROW]}, {"title": "B", "rows": [ROW | {"id": "r2"}, ROW]}]
    base = SMALLEST["list"]
    assert refusal("list", base | {"sections": two}).fields[0].field == "sections[1].rows[1].id"
    twice = [{"rows": [ROW, ROW | {"id": "r2"}]}]
    assert refusal("list", base | {"sections": twice}).fields[0].field == "sections[0].rows[1].title"


def test_several_sections_need_titles() -> None:
    sections = [{"title": "A", "rows": [ROW]}, {"rows": [ROW | {"id": "r2"}]}]
    assert refusal("list", SMALLEST["list"] | {"sections": sections}).message == "sections[1].title: is required"


def test_products_and_options_are_unlike_each_other() -> None:
    sections = [{"title": "A", "products": ["p"]}, {"title": "B", "products": ["p"]}]
    refused = refusal("product_list", SMALLEST["product_list"] | {"sections": sections})
    assert refused.fields[0].field == "sections[1].products[0]"
    poll = {"question": "?", "options": ["a", "b", "a"]}
    assert refusal("poll", {"poll": poll}).fields[0].field == "poll.options[2]"


def test_a_list_and_a_product_list_have_text_headers_only() -> None:
    for type_ in ("list", "product_list"):
        refused = refusal(type_, SMALLEST[type_] | {"header": {"type": "image", "media": MEDIA}})
        assert refused.message == "header.type: must be one of text"


def test_a_poll_takes_one_answer_unless_it_says_so() -> None:
    assert content("poll", {"poll": {"question": "?", "options": ["a", "b"]}})["poll"]["multiple"] is False


@for_each("emoji", ["👍", "❤️", "❤", "👍🏽", "🇧🇷", "1️⃣", "👨‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️‍🔥", "🫡", "©️", "👩🏾‍❤️‍💋‍👨🏻"])
def test_one_emoji(emoji: str) -> None:
    assert is_emoji(emoji)
    check("reaction", {"reaction": {"message_id": "0" * 32, "emoji": emoji}})


@for_each("text", ["a", "1", "👍👍", "👍 ", ":)", "🇧", "ok", "👍a", "\u200d", "\ufe0f", "👍\u200d", "é", "中"])
def test_not_one_emoji(text: str) -> None:
    assert not is_emoji(text)
    assert (
        refusal("reaction", {"reaction": {"message_id": "0" * 32, "emoji": text}}).fields[0].field == "reaction.emoji"
    )


# -- the use of a template --------------------------------------------------------------------------------------------


def test_a_template_use_is_shown_as_it_was_given() -> None:
    use = check("template", FULLEST["template"]).template
    assert use is not None
    given = FULLEST["template"]["template"]
    assert (use.name, use.language, use.variables) == ("order_ok", "en_US", {"first_name": "Anna"})
    assert (use.header, list(use.buttons), use.components) == (given["header"], given["buttons"], None)
    by_place = check("template", {"template": USE | {"variables": ["a", "b"]}}).template
    assert by_place is not None
    assert by_place.variables == ("a", "b")


@for_each(
    "header",
    [
        "Summer",
        {"sale": "Summer"},
        {"type": "text", "text": "Summer"},
        {"type": "gif", "media": LINK},
        {"type": "location", "location": {"latitude": 1, "longitude": 2}},
        {"type": "product", "product": {"catalog_id": "c", "retailer_id": "p"}},
    ],
)
def test_headers_of_templates(header: Any) -> None:
    option = USE | {"header": header}
    assert content("template", {"template": option}) == {"template": option}


def carousel(component: dict[str, Any]) -> dict[str, Any]:
    return {"type": "carousel", "cards": [{"card_index": i, "components": [component]} for i in range(2)]}


@for_each(
    ("option", "path"),
    [
        ({"header": {"a": "x", "b": "y"}}, "template.header"),
        ({"header": {}}, "template.header"),
        ({"header": {"type": "image"}}, "template.header.media"),
        ({"header": {"type": "image", "media": MEDIA, "filename": "x"}}, "template.header.filename"),
        ({"header": {"type": "sound"}}, "template.header.type"),
        ({"header": {"Big": "x"}}, "template.header.Big"),
        ({"variables": {"Big": "x"}}, "template.variables.Big"),
        ({"variables": ["x", ""]}, "template.variables[1]"),
        ({"variables": [7]}, "template.variables[0]"),
        ({"variables": "x"}, "template.variables"),
        ({"variables": ["x", "a\nb"]}, "template.variables[1]"),
        ({"variables": {"first_name": "a\tb"}}, "template.variables.first_name"),
        ({"variables": ["a     b"]}, "template.variables[0]"),
        ({"header": "a\r\nb"}, "template.header"),
        ({"header": {"sale": "a\nb"}}, "template.header.sale"),
        ({"header": "x" * 61}, "template.header"),
        ({"header": {"sale": "x" * 61}}, "template.header.sale"),
        ({"header": {"type": "text", "text": "a\nb"}}, "template.header.text"),
        ({"buttons": [{"index": 0}]}, "template.buttons[0]"),
        ({"buttons": [{"index": 0, "text": "a", "code": "b"}]}, "template.buttons[0]"),
        ({"buttons": [{"index": 0, "text": "a"}, {"index": 0, "code": "b"}]}, "template.buttons[1].index"),
        ({"buttons": [{"index": -1, "text": "a"}]}, "template.buttons[0].index"),
        ({"buttons": [{"index": 10, "text": "a"}]}, "template.buttons[0].index"),
        ({"buttons": [{"index": True, "text": "a"}]}, "template.buttons[0].index"),
        ({"components": [], "variables": ["x"]}, "template.components"),
        ({"components": {}}, "template.components"),
        ({"components": [7]}, "template.components[0]"),
        ({"components": [{"type": "body"}, {"type": "BODY"}]}, "template.components[1].type"),
        ({"components": [{"type": "body", "parameters": {}}]}, "template.components[0].parameters"),
        (
            {"components": [{"type": "body", "parameters": [{"type": "text"}]}]},
            "template.components[0].parameters[0].text",
        ),
        (
            {"components": [{"type": "HEADER", "parameters": [{"type": "TEXT", "text": "a\nb"}]}]},
            "template.components[0].parameters[0].text",
        ),
        (
            {"components": [{"type": "header", "parameters": [{"type": "text", "text": "x" * 61}]}]},
            "template.components[0].parameters[0].text",
        ),
        (
            {"components": [{"type": "body", "parameters": [{"type": "text", "text": ""}]}]},
            "template.components[0].parameters[0].text",
        ),
        (
            {"components": [carousel({"type": "body", "parameters": [{"type": "text", "text": "a\tb"}]})]},
            "template.components[0].cards[0].components[0].parameters[0].text",
        ),
        ({"components": [{"type": "button", "index": "x"}]}, "template.components[0].index"),
        ({"components": [{"type": "button", "index": "0"}]}, "template.components[0].sub_type"),
        ({"components": [{"type": "footer"}]}, "template.components[0].type"),
        ({"components": [{"type": "carousel", "cards": [{}]}]}, "template.components[0].cards"),
        ({"components": [{"type": "body", "parameters": [{"type": "text", "text": "\x00"}]}]}, None),
        ({"components": [{"type": "body", "\ud800": 1}]}, None),
    ],
)
def test_a_use_that_cannot_be_read(option: dict[str, Any], path: str | None) -> None:
    refused = refusal("template", {"template": USE | option})
    assert refused.code == "invalid_field"
    assert (
        refused.fields[0].field.startswith("template.components[0]")
        if path is None
        else refused.fields[0].field == path
    )


def test_values_of_a_template_may_have_four_spaces_and_a_payload_any_text() -> None:
    button = {"type": "button", "sub_type": "quick_reply", "index": "0"}
    for option in (
        {"variables": ["a    b"], "header": "c    d", "buttons": [{"index": 0, "payload": "a\nb\t     c"}]},
        {"components": [button | {"parameters": [{"type": "payload", "payload": "a\nb"}]}]},
    ):
        assert content("template", {"template": USE | option}) == {"template": USE | option}


def test_raw_components_are_kept_and_searched_for_files() -> None:
    def picture(value: dict[str, str]) -> dict[str, Any]:
        return {"type": "header", "parameters": [{"type": "image", "image": value}]}

    card = {"card_index": 0, "components": [picture(MEDIA)]}
    components = [
        picture(LINK),
        {"type": "body", "parameters": [{"type": "text", "text": "Anna"}]},
        {"type": "button", "sub_type": "url", "index": "0", "parameters": [{"type": "text", "text": "1"}]},
        {"type": "carousel", "cards": [card, card | {"card_index": 1}]},
    ]
    message = check("template", {"template": USE | {"components": components}})
    assert msgspec.json.decode(message.content)["template"]["components"] == components
    assert (message.links, message.media_ids) == ((LINK["link"],), (MEDIA["id"],) * 2)
    own = check("template", {"template": USE | {"components": [picture({"id": "1234567890"})]}})
    assert (own.links, own.media_ids) == ((), ())
    for wrong in ({}, {"id": "1", "link": LINK["link"]}, {"link": "ftp://x"}, {"id": "med_1"}):
        assert refusal("template", {"template": USE | {"components": [picture(wrong)]}}).code == "invalid_field"
