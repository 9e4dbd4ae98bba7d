"""The translation of each of the library's events. Every event is either in TRANSLATED or, with a reason, in SILENT."""

from collections.abc import Callable
from typing import Any

from gatepost.networks.qr.phone import translate_link as link
from gatepost.networks.qr.phone import translate_message as message
from gatepost.networks.qr.phone import translate_update as news
from gatepost.networks.qr.phone.protos import neo

Frame = dict[str, Any]
Translate = Callable[[Any, int], list[Frame]]

TRANSLATED: dict[Any, Translate] = {
    neo.QR: link.qr,
    neo.PairStatus: link.pair_status,
    neo.Connected: link.connected,
    neo.KeepAliveTimeout: link.keep_alive_timeout,
    neo.KeepAliveRestored: link.connected,
    neo.LoggedOut: link.logged_out,
    neo.StreamReplaced: link.replaced,
    neo.TemporaryBan: link.temporary_ban,
    neo.ConnectFailure: link.connect_failure,
    neo.ClientOutdated: link.outdated,
    neo.StreamError: link.stream_error,
    neo.Disconnected: link.disconnected,
    neo.HistorySync: news.history_sync,
    neo.Message: message.message,
    neo.Receipt: news.receipt,
    neo.CallOffer: news.call_offer,
    neo.CallOfferNotice: news.call_offer,
    neo.CallTerminate: news.call_terminate,
    neo.IdentityChange: news.identity_change,
    neo.UndecryptableMessage: news.undecryptable,
}

SILENT: dict[Any, str] = {
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


def translate(event: Any, now: int) -> list[Frame]:
    """Return the frames of one event; an empty list if the gateway does not need it."""
    handler = TRANSLATED.get(type(event))
    return handler(event, now) if handler else []
