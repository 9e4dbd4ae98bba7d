"""The library's news about the link, receipts, calls and people, as frames and as the values of the gateway."""

from datetime import UTC, datetime
from typing import Any

import pytest
from neonize.events import EVENT_TO_INT  # type: ignore[import-untyped]

from gatepost.networks.base import ConnectionUpdate, ContactUpdate, Incoming, Person, StatusUpdate, Update
from gatepost.networks.qr import frames
from gatepost.networks.qr.phone import translate_link
from gatepost.networks.qr.phone.jids import format_jid, jid, parse_jid
from gatepost.networks.qr.phone.protos import history, neo
from gatepost.networks.qr.phone.translate_event import TRANSLATED, translate
from gatepost.networks.qr.reasons import REASONS
from gatepost.networks.qr.translate import updates_of
from tests.for_each import for_each
from tests.networks.qr.library_events import ANA, ANA_HIDDEN, AT, GROUP, NOBODY, SHOP, info, receipt

SILENT = {  # the events that the gateway does not need, and why
    neo.Device: "the library's note to itself",
    neo.NewsLetterMessageMeta: "comes inside of messages",
    neo.ChatPresence: "who is typing is not kept",
    neo.Presence: "who is online is not kept",
    neo.JoinedGroup: "groups are recognised by their messages",
    neo.GroupInfoEvent: "groups are recognised by their messages",
    neo.Picture: "profile pictures are not kept",
    neo.privacySettingsEvent: "settings of the phone",
    neo.OfflineSyncPreview: "the messages themselves follow",
    neo.OfflineSyncCompleted: "the messages themselves came before",
    neo.BlocklistEvent: "whom the phone blocks shows in the network's refusals",
    neo.BlocklistChange: "comes inside of the list",
    neo.NewsletterJoin: "newsletters are recognised by their messages",
    neo.NewsletterLeave: "newsletters are recognised by their messages",
    neo.NewsletterMuteChange: "a setting of the phone",
    neo.NewsletterLiveUpdate: "counts of views and reactions",
    neo.CallAccept: "the call was taken on the phone",
    neo.CallPreAccept: "a step of a call",
    neo.CallTransport: "a step of a call",
    neo.CallRelayLatency: "a step of a call",
    neo.UnknownCallEvent: "a step of a call",
    neo.RotateADVSecret: "a secret of the library: it leaves the process for nobody",
}


def updates(event: Any, now: int = AT) -> list[Update]:
    """What the gateway gets of an event, over the protocol itself."""
    found: list[Update] = []
    for frame in translate(event, now):
        read_frame = frames.parse_frame(frames.encode_frame({**frame, "session": "ch_1", "seq": 1}))
        assert read_frame is not None
        assert not isinstance(read_frame, frames.FrameAnswer)
        found += [update for _, update in updates_of(read_frame, "connecting")]
    return found


def test_every_event_of_the_library_is_translated_or_silent_on_purpose() -> None:
    assert set(TRANSLATED) | set(SILENT) == set(EVENT_TO_INT)
    assert not set(TRANSLATED) & set(SILENT)
    for kind in SILENT:
        assert translate(kind(), AT) == []


NODE = neo.Node(Tag="x", Nil=True)


def failure(reason: int, message: str = "") -> Any:
    return neo.ConnectFailure(Reason=reason, Message=message, Raw=NODE)


@for_each(
    ("event", "state", "reason", "details"),
    [
        (neo.PairStatus(ID=SHOP, Status=neo.PairStatus.ERROR, Error="bad"), "disconnected", "pair_failed", "bad"),
        (neo.Connected(status=True), "connected", "linked", None),
        (neo.KeepAliveTimeout(ErrorCount=2), "disconnected", "network_gone", "2 signs of life went unanswered."),
        (neo.KeepAliveRestored(), "connected", "linked", None),
        (neo.LoggedOut(OnConnect=True, Reason=neo.LOGGED_OUT), "logged_out", "logged_out", None),
        (neo.LoggedOut(OnConnect=True, Reason=neo.UNKNOWN_LOGOUT), "banned", "banned", None),
        (
            neo.LoggedOut(OnConnect=True, Reason=neo.MAIN_DEVICE_GONE),
            "logged_out",
            "logged_out",
            "The account on the phone is locked or was deleted.",
        ),
        (neo.StreamReplaced(), "disconnected", "replaced", None),
        (
            neo.TemporaryBan(Code=neo.TemporaryBan.BLOCKED_BY_USERS, Expire=3600),
            "banned",
            "banned",
            "Too many people blocked the number.",
        ),
        (failure(neo.LOGGED_OUT), "logged_out", "logged_out", None),
        (failure(neo.TEMP_BANNED, "wait"), "banned", "banned", "wait"),
        (failure(neo.CLIENT_OUTDATED), "disconnected", "outdated_client", None),
        (failure(neo.BAD_USER_AGENT), "disconnected", "outdated_client", None),
        (failure(neo.SERVICE_UNAVAILABLE, "later"), "disconnected", "stream_error", "service unavailable: later"),
        (failure(neo.GENERIC), "disconnected", "stream_error", "generic"),
        (neo.ClientOutdated(), "disconnected", "outdated_client", None),
        (neo.StreamError(Code="515", Raw=NODE), "connecting", "restart_required", None),
        (neo.StreamError(Code="500", Raw=NODE), "disconnected", "stream_error", "Error 500."),
        (neo.Disconnected(status=True), "disconnected", "network_gone", None),
    ],
)
def test_how_the_link_stands(event: Any, state: str, reason: str, details: str | None) -> None:
    until = datetime.fromtimestamp(AT + 3600, UTC) if isinstance(event, neo.TemporaryBan) else None
    assert updates(event) == [ConnectionUpdate(state, reason, details, until=until)]
    assert REASONS[reason].state in (state, "disconnected", "connecting")


def test_one_sign_of_life_may_be_missed() -> None:
    assert updates(neo.KeepAliveTimeout(ErrorCount=1)) == []


def test_codes_live_sixty_seconds_then_twenty() -> None:
    assert updates(neo.QR(Codes=["2@a", "2@b"])) == [ConnectionUpdate("waiting_for_scan", qr="2@a", qr_seconds=60)]
    assert translate_link.code("2@b", 1) == {"event": "qr", "code": "2@b", "seconds": 20}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("timeout", "scan_expired"),
        ("err-client-outdated", "outdated_client"),
        ("err-scanned-without-multidevice", "pair_failed"),
        ("err-unexpected-state", "pair_failed"),
        ("error", "pair_failed"),
    ],
)
def test_how_the_codes_end(word: str, reason: str) -> None:
    (frame,) = translate_link.login(word)
    assert (frame["state"], frame["reason"]) == ("disconnected", reason)
    assert translate_link.login("success") == []


def test_a_linked_phone_says_whose_it_is() -> None:
    pairing = neo.PairStatus(ID=SHOP, BusinessName="Shop", Platform="android", Status=neo.PairStatus.SUCCESS)
    assert translate(pairing, AT) == [
        {"event": "linked", "phone": "15550002222", "name": "Shop", "device": "15550002222:7@s.whatsapp.net"}
    ]
    assert updates(pairing) == [ConnectionUpdate("connecting", "linked", phone="15550002222")]
    me = neo.Device(JID=SHOP, LID=jid("77", "lid"), Platform="", BussinessName="", PushName="Shop", Initialized=True)
    assert translate_link.linked(me)["lid"] == "77"


@pytest.mark.parametrize(
    ("kind", "status"),
    [(neo.Receipt.DELIVERED, "delivered"), (neo.Receipt.READ, "read"), (neo.Receipt.PLAYED, "played")],
)
def test_receipts(kind: int, status: str) -> None:
    ours = "01999C000000700080000000000000AB"
    found = updates(receipt(kind, ours, "3EB0B"))
    assert [(one.network_id, one.status, one.at) for one in found if isinstance(one, StatusUpdate)] == [
        (ours, status, datetime.fromtimestamp(AT, UTC)),
        ("3EB0B", status, datetime.fromtimestamp(AT, UTC)),
    ]
    assert [one.message_id is not None for one in found if isinstance(one, StatusUpdate)] == [True, False]


def test_receipts_that_say_nothing_about_a_person() -> None:
    for name, kind in neo.Receipt.ReceiptType.items():
        if name not in ("DELIVERED", "READ", "PLAYED"):
            assert translate(receipt(kind, "A"), AT) == []
    assert translate(receipt(neo.Receipt.READ, "A", IsFromMe=True), AT) == []
    assert translate(receipt(neo.Receipt.READ, "A", Chat=GROUP), AT) == []
    untyped = receipt(neo.Receipt.READ, "A")
    untyped.ClearField("Type")
    assert translate(untyped, AT) == []


def call(**fields: Any) -> Any:
    return neo.BasicCallMeta(**{"from": ANA}, timestamp=AT, callCreator=ANA, callCreatorAlt=ANA_HIDDEN, callID="C1")


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (neo.CallOffer(basicCallMeta=call(), data=NODE), "offer"),
        (neo.CallOfferNotice(basicCallMeta=call(), media="audio", type="group", data=NODE), "offer"),
        (neo.CallTerminate(basicCallMeta=call(), reason="timeout", data=NODE), "missed"),
        (neo.CallTerminate(basicCallMeta=call(), reason="", data=NODE), "ended"),
    ],
)
def test_calls(event: Any, kind: str) -> None:
    (update,) = updates(event)
    assert isinstance(update, Incoming)
    assert (update.type, update.content, update.network_id) == ("call", f'{{"call":{{"kind":"{kind}"}}}}', f"C1:{kind}")
    assert update.person == Person(phone="15550003333", lid="987654321")


def test_a_call_of_nobody_is_none() -> None:
    meta = neo.BasicCallMeta(**{"from": GROUP}, timestamp=AT, callCreator=NOBODY, callCreatorAlt=NOBODY, callID="C1")
    assert translate(neo.CallOffer(basicCallMeta=meta, data=NODE), AT) == []


def test_a_changed_key_is_a_system_message() -> None:
    (update,) = updates(neo.IdentityChange(JID=ANA, Timestamp=AT, Implicit=False))
    assert isinstance(update, Incoming)
    assert (update.type, update.person.phone) == ("system", "15550003333")
    assert "identity_changed" in update.content
    assert translate(neo.IdentityChange(JID=ANA, Timestamp=AT, Implicit=True), AT) == []


def test_what_linked_devices_never_see() -> None:
    mode = neo.UndecryptableMessage.DECRYPT_FAIL_SHOW
    gone = neo.UndecryptableMessage(Info=info("3EB0X"), IsUnavailable=True, DecryptFailMode=mode)
    (update,) = updates(gone)
    assert isinstance(update, Incoming)
    assert (update.type, update.network_id) == ("unsupported", "3EB0X:unavailable")
    late = neo.UndecryptableMessage(Info=info("3EB0X"), IsUnavailable=False, DecryptFailMode=mode)
    assert translate(late, AT) == []


def test_a_fresh_link_brings_names_and_pairs() -> None:
    data = history.HistorySync(
        syncType=history.HistorySync.PUSH_NAME,
        pushnames=[history.Pushname(ID="15550003333@s.whatsapp.net", pushname="Ana")],
        phoneNumberToLidMappings=[history.PhoneNumberToLIDMapping(pnJID="15550003333@s.whatsapp.net", lidJID="9@lid")],
        conversations=[
            history.Conversation(ID="15550004444@s.whatsapp.net", displayName="Bo", lidJID="8@lid"),
            history.Conversation(ID="120363@g.us", name="Fans"),
            history.Conversation(ID="15550005555@s.whatsapp.net"),
        ],
    )
    at = datetime.fromtimestamp(AT, UTC)
    assert updates(neo.HistorySync(Data=data)) == [
        ContactUpdate(Person(phone="15550003333", lid="9"), at),
        ContactUpdate(Person(phone="15550003333", name="Ana"), at),
        ContactUpdate(Person(phone="15550004444", lid="8", name="Bo"), at),
    ]


@pytest.mark.parametrize("text", ["15550002222:7@s.whatsapp.net", "15550002222@s.whatsapp.net", "77@lid", "1-2@g.us"])
def test_jids_are_read_as_they_are_written(text: str) -> None:
    assert format_jid(parse_jid(text)) == text
