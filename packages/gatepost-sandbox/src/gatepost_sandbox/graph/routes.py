"""The operation of each request, by kind of object, method and path."""

from collections.abc import Callable, Mapping
from typing import Any

from gatepost_sandbox.graph import media, number, people, profile, templates, uploads, waba
from gatepost_sandbox.graph.access import Kind
from gatepost_sandbox.graph.call import Call, Outcome
from gatepost_sandbox.network import Network

Operation = Callable[[Network, Any, Call], Outcome]

ROUTES: Mapping[Kind, Mapping[tuple[str, str], Operation]] = {
    "number": {
        ("GET", ""): number.show,
        ("POST", ""): number.change,
        ("POST", "register"): number.register,
        ("POST", "deregister"): number.deregister,
        ("POST", "request_code"): number.request_code,
        ("POST", "verify_code"): number.verify_code,
        ("POST", "media"): media.upload,
        ("GET", "whatsapp_business_profile"): profile.get_profile,
        ("POST", "whatsapp_business_profile"): profile.set_profile,
        ("GET", "settings"): profile.get_settings,
        ("POST", "settings"): profile.set_settings,
        ("GET", "whatsapp_commerce_settings"): profile.get_commerce,
        ("POST", "whatsapp_commerce_settings"): profile.set_commerce,
        ("POST", "conversational_automation"): profile.set_automation,
        ("POST", "whatsapp_business_encryption"): profile.set_key,
        ("GET", "message_qrdls"): people.list_qr,
        ("POST", "message_qrdls"): people.save_qr,
        ("GET", "message_qrdls/*"): people.get_qr,
        ("DELETE", "message_qrdls/*"): people.delete_qr,
        ("GET", "block_users"): people.list_blocked,
        ("POST", "block_users"): people.block,
        ("DELETE", "block_users"): people.unblock,
        ("GET", "username"): people.get_username,
        ("POST", "username"): people.set_username,
        ("DELETE", "username"): people.delete_username,
        ("GET", "username_suggestions"): people.suggest_usernames,
    },
    "waba": {
        ("GET", ""): waba.show,
        ("POST", ""): waba.change,
        ("GET", "phone_numbers"): waba.list_numbers,
        ("POST", "phone_numbers"): waba.add_number,
        ("GET", "subscribed_apps"): waba.list_apps,
        ("POST", "subscribed_apps"): waba.subscribe,
        ("DELETE", "subscribed_apps"): waba.unsubscribe,
        ("GET", "message_templates"): templates.list_all,
        ("POST", "message_templates"): templates.create,
        ("DELETE", "message_templates"): templates.delete,
        ("POST", "message_templates/archive"): templates.archive,
        ("POST", "message_templates/unarchive"): templates.unarchive,
        ("POST", "upsert_message_templates"): templates.upsert,
        ("POST", "migrate_message_templates"): templates.migrate,
    },
    "template": {
        ("GET", ""): templates.get,
        ("POST", ""): templates.edit,
        ("POST", "unpause"): templates.unpause,
        ("GET", "compare"): templates.compare,
    },
    "media": {
        ("GET", ""): media.show,
        ("DELETE", ""): media.delete,
    },
    "app": {
        ("POST", "uploads"): uploads.begin,
        ("GET", "subscriptions"): waba.list_subscriptions,
        ("POST", "subscriptions"): waba.set_subscription,
        ("DELETE", "subscriptions"): waba.delete_subscription,
    },
    "upload": {
        ("GET", ""): uploads.show,
        ("POST", ""): uploads.add,
    },
    "business": {
        ("GET", "owned_whatsapp_business_accounts"): waba.list_accounts,
        ("GET", "client_whatsapp_business_accounts"): waba.no_accounts,
    },
}

# Requests about no object of the network: how to get a token, and files by their addresses.
OPEN: Mapping[str, Callable[[Network, Call], Outcome]] = {
    "oauth/access_token": waba.app_token,
    "debug_token": waba.debug_token,
    "whatsapp_business/attachments": media.download,
    "whatsapp_business/pictures": uploads.fetch,
    "whatsapp_business/qr/*": people.draw_qr,
}


def find_operation(kind: Kind, method: str, path: str) -> Operation | None:
    """Return the operation for this request, if there is one."""
    table = ROUTES[kind]
    return table.get((method, path)) or table.get((method, wild(path)))


def find_open(method: str, path: str) -> Callable[[Network, Call], Outcome] | None:
    """Return the operation for a request about no object."""
    return (OPEN.get(path) or OPEN.get(wild(path))) if method == "GET" else None


def wild(path: str) -> str:
    """Return a path whose last segment is a wildcard."""
    return path.rpartition("/")[0] + "/*"
