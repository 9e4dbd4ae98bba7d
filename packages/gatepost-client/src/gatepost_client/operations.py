"""All operations, listed once for both clients."""

from gatepost_client import compose
from gatepost_client.calls import assistants as of_assistants
from gatepost_client.calls import batch as of_batch
from gatepost_client.calls import channel as of_channel
from gatepost_client.calls import contacts as of_contacts
from gatepost_client.calls import conversations as of_conversations
from gatepost_client.calls import deliveries as of_deliveries
from gatepost_client.calls import events as of_events
from gatepost_client.calls import media as of_media
from gatepost_client.calls import messages as of_messages
from gatepost_client.calls import orders as of_orders
from gatepost_client.calls import templates as of_templates
from gatepost_client.calls import webhooks as of_webhooks
from gatepost_client.calls.messages import sending
from gatepost_client.operation import Followed, Listed, Operation, Streamed


class Operations:
    """The operations; they are described in `calls/`, and messages in `compose.py`."""

    send = Operation(sending(compose.message))
    send_text = Operation(sending(compose.text))
    send_image = Operation(sending(compose.image))
    send_video = Operation(sending(compose.video))
    send_audio = Operation(sending(compose.audio))
    send_document = Operation(sending(compose.document))
    send_sticker = Operation(sending(compose.sticker))
    send_location = Operation(sending(compose.location))
    send_contacts = Operation(sending(compose.contacts))
    send_buttons = Operation(sending(compose.buttons))
    send_list = Operation(sending(compose.list_choice))
    send_link_button = Operation(sending(compose.link_button))
    send_product = Operation(sending(compose.product))
    send_product_list = Operation(sending(compose.product_list))
    send_catalog = Operation(sending(compose.catalog))
    send_template = Operation(sending(compose.template))
    send_reaction = Operation(sending(compose.reaction))
    send_poll = Operation(sending(compose.poll))

    batch = Operation(of_batch.batch)

    message = Operation(of_messages.message)
    trace = Operation(of_messages.trace)
    cancel = Operation(of_messages.cancel)
    cancel_messages = Operation(of_messages.cancel_messages)
    edit = Operation(of_messages.edit)
    delete_message = Operation(of_messages.delete_message)
    mark_read = Operation(of_messages.mark_read)
    typing = Operation(of_messages.typing)
    messages = Listed(of_messages.messages)
    export_messages = Streamed(of_messages.export_messages)
    events = Listed(of_events.events)
    stream = Followed(of_events.stream)

    conversations = Listed(of_conversations.conversations)
    conversation_counts = Operation(of_conversations.conversation_counts)
    conversation = Operation(of_conversations.conversation)
    change_conversation = Operation(of_conversations.change_conversation)
    conversation_messages = Listed(of_conversations.conversation_messages)
    read_conversation = Operation(of_conversations.read_conversation)
    conversation_notes = Listed(of_conversations.conversation_notes)
    add_note = Operation(of_conversations.add_note)
    delete_note = Operation(of_conversations.delete_note)

    contacts = Listed(of_contacts.contacts)
    contact = Operation(of_contacts.contact)
    create_contact = Operation(of_contacts.create_contact)
    change_contact = Operation(of_contacts.change_contact)
    delete_contact = Operation(of_contacts.delete_contact)
    merge_contacts = Operation(of_contacts.merge_contacts)
    check_numbers = Operation(of_contacts.check_numbers)
    import_contacts = Operation(of_contacts.import_contacts)
    export_contacts = Streamed(of_contacts.export_contacts)

    labels = Operation(of_conversations.labels)
    label = Operation(of_conversations.label)
    create_label = Operation(of_conversations.create_label)
    change_label = Operation(of_conversations.change_label)
    delete_label = Operation(of_conversations.delete_label)
    put_label = Operation(of_conversations.put_label)
    take_label = Operation(of_conversations.take_label)

    drafts = Listed(of_assistants.drafts)
    draft = Operation(of_assistants.draft)
    draft_counts = Operation(of_assistants.draft_counts)
    create_draft = Operation(of_assistants.create_draft)
    edit_draft = Operation(of_assistants.edit_draft)
    approve_draft = Operation(of_assistants.approve_draft)
    refuse_draft = Operation(of_assistants.refuse_draft)
    mcp_calls = Listed(of_assistants.mcp_calls)
    hand_over = Operation(of_assistants.hand_over)
    end_hand_over = Operation(of_assistants.end_hand_over)

    orders = Listed(of_orders.orders)
    order = Operation(of_orders.order)
    change_order = Operation(of_orders.change_order)
    usage = Operation(of_orders.usage)

    upload = Operation(of_media.upload)
    media = Operation(of_media.media)
    download = Streamed(of_media.download)
    delete_media = Operation(of_media.delete_media)

    templates = Listed(of_templates.templates)
    template = Operation(of_templates.template)
    create_template = Operation(of_templates.create_template)
    check_template = Operation(of_templates.check_template)
    edit_template = Operation(of_templates.edit_template)
    delete_template = Operation(of_templates.delete_template)
    sync_templates = Operation(of_templates.sync_templates)
    preview_template = Operation(of_templates.preview_template)

    webhooks = Operation(of_webhooks.webhooks)
    webhook = Operation(of_webhooks.webhook)
    create_webhook = Operation(of_webhooks.create_webhook)
    change_webhook = Operation(of_webhooks.change_webhook)
    delete_webhook = Operation(of_webhooks.delete_webhook)
    rotate_webhook_secret = Operation(of_webhooks.rotate_webhook_secret)
    try_webhook = Operation(of_webhooks.try_webhook)
    check_webhook = Operation(of_webhooks.check_webhook)
    attempts = Listed(of_webhooks.attempts)
    webhook_figures = Operation(of_webhooks.webhook_figures)
    deliveries = Listed(of_deliveries.deliveries)
    delivery = Operation(of_deliveries.delivery)
    retry_delivery = Operation(of_deliveries.retry_delivery)
    retry_deliveries = Operation(of_deliveries.retry_deliveries)
    recover = Operation(of_deliveries.recover)
    recoveries = Listed(of_deliveries.recoveries)
    recovery = Operation(of_deliveries.recovery)

    channel = Operation(of_channel.channel)
    connect = Operation(of_channel.connect)
    qr = Operation(of_channel.qr)
    qr_picture = Operation(of_channel.qr_picture)
    pairing_code = Operation(of_channel.pairing_code)
    logout = Operation(of_channel.logout)
    profile = Operation(of_channel.profile)
    change_profile = Operation(of_channel.change_profile)
    health = Operation(of_channel.health)
