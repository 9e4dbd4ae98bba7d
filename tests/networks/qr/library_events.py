"""Events as the library makes them, with its own types."""

from typing import Any

from gatepost.networks.qr.phone.jids import jid
from gatepost.networks.qr.phone.protos import e2e, neo

AT = 1_763_200_000
NOBODY = neo.JID(User="", Server="", Device=0, RawAgent=0, Integrator=0, IsEmpty=True)
ANA = jid("15550003333", "s.whatsapp.net")
ANA_HIDDEN = jid("987654321", "lid")
SHOP = jid("15550002222", "s.whatsapp.net", 7)
GROUP = jid("120363000000000000", "g.us")


def source(**fields: Any) -> Any:
    given = {"Chat": ANA, "Sender": ANA, "IsFromMe": False, "IsGroup": False}
    given |= {"SenderAlt": NOBODY, "RecipientAlt": NOBODY, "BroadcastListOwner": NOBODY}
    return neo.MessageSource(**(given | fields))


def info(id_: str = "3EB0AA", **fields: Any) -> Any:
    return neo.MessageInfo(
        MessageSource=source(**fields),
        ID=id_,
        ServerID=0,
        Type="text",
        Pushname="Ana",
        Timestamp=AT * 1000,
        Category="",
        Multicast=False,
        MediaType="",
        Edit="",
    )


def message(said: Any, **fields: Any) -> Any:
    flags = ("IsEphemeral", "IsViewOnce", "IsViewOnceV2", "IsDocumentWithCaption", "IsEdit")
    return neo.Message(Info=info(**fields), Message=said, **dict.fromkeys(flags, False))


def said(**fields: Any) -> Any:
    return e2e.Message(**fields)


def receipt(kind: int, *ids: str, **fields: Any) -> Any:
    return neo.Receipt(MessageSource=source(**fields), MessageIDs=list(ids), Timestamp=AT, Type=kind)


ADDRESS = {
    "URL": "https://mmg.example/f",
    "directPath": "/v/f",
    "mediaKey": b"k" * 32,
    "fileSHA256": b"\x0a" * 32,
    "fileEncSHA256": b"e" * 32,
    "fileLength": 1234,
}
