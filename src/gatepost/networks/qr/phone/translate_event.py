"""Selects the translation of each of the library's events. The gateway does not need those that are not listed."""

from collections.abc import Callable
from typing import Any

from gatepost.networks.qr.phone import translate_link as link
from gatepost.networks.qr.phone import translate_message as message
from gatepost.networks.qr.phone import translate_update as updates
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
    neo.HistorySync: updates.history_sync,
    neo.Message: message.message,
    neo.Receipt: updates.receipt,
    neo.CallOffer: updates.call_offer,
    neo.CallOfferNotice: updates.call_offer,
    neo.CallTerminate: updates.call_terminate,
    neo.IdentityChange: updates.identity_change,
    neo.UndecryptableMessage: updates.undecryptable,
}


def translate(event: Any, now: int) -> list[Frame]:
    """Return the frames of one event; an empty list if the gateway does not need it."""
    handler = TRANSLATED.get(type(event))
    return handler(event, now) if handler else []
