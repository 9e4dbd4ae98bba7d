"""Converts between the network's vCards and the gateway's neutral contacts. Pure."""

import re
from typing import Any

Contact = dict[str, Any]
_NAME_PARTS = ("last_name", "first_name", "middle_name", "prefix", "suffix")
_ADDRESS_PARTS = ("", "", "street", "city", "state", "zip", "country")
_SEPARATOR = re.compile(r"(?<!\\);")


def write(contact: Contact) -> str:
    """Return the vCard of a neutral contact."""
    name = contact.get("name", {})
    lines = ["BEGIN:VCARD", "VERSION:3.0", f"N:{';'.join(_escape(name.get(part, '')) for part in _NAME_PARTS)}"]
    lines.append(f"FN:{_escape(name.get('formatted_name', ''))}")
    lines += [_phone(phone) for phone in contact.get("phones", ())]
    lines += [_typed("EMAIL", mail, mail["email"]) for mail in contact.get("emails", ())]
    lines += [_typed("URL", url, url["url"]) for url in contact.get("urls", ())]
    lines += [_address(address) for address in contact.get("addresses", ())]
    org = contact.get("org") or {}
    if org.get("company"):
        lines.append(f"ORG:{';'.join(_escape(org[part]) for part in ('company', 'department') if org.get(part))}")
    if org.get("title"):
        lines.append(f"TITLE:{_escape(org['title'])}")
    if contact.get("birthday"):
        lines.append(f"BDAY:{_escape(contact['birthday'])}")
    return "\r\n".join([*lines, "END:VCARD"])


def read(text: str, shown: str = "") -> Contact:
    """Return the neutral contact of a vCard; properties that it has no field for are left out."""
    contact: Contact = {"name": {"formatted_name": shown}, "phones": []}
    for line in re.sub(r"\r?\n[ \t]", "", text).splitlines():
        head, colon, value = line.partition(":")
        if colon and value:
            name, *parameters = head.split(";")
            _take(contact, name.rpartition(".")[2].upper(), parameters, value)
    if not contact["name"]["formatted_name"]:
        contact["name"]["formatted_name"] = contact["phones"][0]["phone"] if contact["phones"] else "?"
    return contact


def _take(contact: Contact, name: str, parameters: list[str], value: str) -> None:
    typed = {"type": kind} if (kind := _type(parameters)) else {}
    match name:
        case "FN":
            contact["name"]["formatted_name"] = _unescape(value)
        case "N":
            parts = zip(_NAME_PARTS, _split(value), strict=False)
            contact["name"] |= {part: text for part, text in parts if text}
        case "TEL":
            wa_id = next((p.partition("=")[2] for p in parameters if p.lower().startswith("waid=")), "")
            contact["phones"].append({"phone": _unescape(value), **typed, **({"wa_id": wa_id} if wa_id else {})})
        case "EMAIL":
            contact.setdefault("emails", []).append({"email": _unescape(value), **typed})
        case "URL":
            contact.setdefault("urls", []).append({"url": _unescape(value), **typed})
        case "ADR":
            parts = zip(_ADDRESS_PARTS, _split(value), strict=False)
            contact.setdefault("addresses", []).append({p: text for p, text in parts if p and text} | typed)
        case "ORG":
            parts = zip(("company", "department"), _split(value), strict=False)
            contact.setdefault("org", {}).update({part: text for part, text in parts if text})
        case "TITLE":
            contact.setdefault("org", {})["title"] = _unescape(value)
        case "BDAY":
            contact["birthday"] = _unescape(value)


def _phone(phone: dict[str, str]) -> str:
    digits = phone.get("wa_id") or "".join(filter(str.isdigit, phone["phone"]))
    return f"TEL;type={_token(phone.get('type', 'CELL'))};waid={_token(digits)}:{_escape(phone['phone'])}"


def _address(address: dict[str, str]) -> str:
    parts = (_escape(address.get(part, "")) if part else "" for part in _ADDRESS_PARTS)
    return _typed("ADR", address, ";".join(parts), escaped=True)


def _typed(name: str, entry: dict[str, str], value: str, *, escaped: bool = False) -> str:
    typed = f";type={_token(entry['type'])}" if entry.get("type") else ""
    return f"{name}{typed}:{value if escaped else _escape(value)}"


def _type(parameters: list[str]) -> str:
    kinds = [p.partition("=")[2] for p in parameters if p.lower().startswith("type=")]
    return next((kind for kind in kinds if kind.lower() not in ("pref", "voice", "internet")), "")


def _token(text: str) -> str:
    return re.sub(r"[^\w-]", "", text)


def _escape(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\r\n", "\\n"), ("\n", "\\n"), ("\r", "\\n")):
        text = text.replace(plain, escaped)
    return text


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] in "nN" else found[1], text).strip()


def _split(value: str) -> list[str]:
    return [_unescape(part) for part in _SEPARATOR.split(value)]
