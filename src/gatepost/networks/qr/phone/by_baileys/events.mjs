// Converts the library's events into plain values for the parent process, which translates them for the gateway.
import {
  extractAddressingContext,
  getBinaryNodeChildren,
  isJidBroadcast,
  isJidGroup,
  NO_MESSAGE_FOUND_ERROR_TEXT,
  proto,
} from '@whiskeysockets/baileys'

const RECEIPTS = { '': 'delivered', read: 'read', played: 'played' }
const CALLS = { offer: 'offer', terminate: 'ended', timeout: 'missed' }
const number = (value) => Number(value?.toNumber?.() ?? value ?? 0) || 0 // 0 if it is not a number
const base64 = (bytes) => Buffer.from(bytes).toString('base64')

// A message from its stanza, before the library has acknowledged it; `plain` is its decrypted content.
export const fromStanza = ({ attrs }, key, plain) => {
  const { senderAlt, recipientAlt } = extractAddressingContext({ attrs })
  const other = attrs.peer_recipient_pn ?? attrs.peer_recipient_lid
  return {
    ...keyed(key),
    sender: attrs.participant ?? attrs.from,
    sender_alt: senderAlt === other ? null : (senderAlt ?? null), // the library may confuse it with the recipient's
    recipient_alt: recipientAlt ?? other ?? null,
    at: number(attrs.t),
    name: attrs.notify ?? '',
    message: base64(plain),
  }
}

// A message that the library emitted: resent by the phone, from a newsletter, or not readable on this device.
export const fromUpsert = (message) => ({
  ...keyed(message.key),
  sender: message.key.participant ?? (message.key.fromMe ? null : message.key.remoteJid),
  sender_alt: message.key.participantAlt ?? (message.key.fromMe ? null : message.key.remoteJidAlt) ?? null,
  recipient_alt: message.key.fromMe ? (message.key.remoteJidAlt ?? null) : null,
  at: number(message.messageTimestamp),
  name: message.pushName ?? '',
  message: message.message ? base64(proto.Message.encode(message.message).finish()) : null,
})

// Whether the network never shows a message to linked devices. One that failed to decrypt is sent again by its sender.
export const neverShown = ({ key, messageStubParameters }) =>
  Boolean(key.isViewOnce) || messageStubParameters?.[0] === NO_MESSAGE_FOUND_ERROR_TEXT

const keyed = (key) => ({ id: key.id, chat: key.remoteJid, from_me: Boolean(key.fromMe) })

// Receipts of our own messages, from the stanza: if two arrive together, the library emits only the later one.
// Groups and receipts of our own other devices are ignored.
export const receipts = ({ attrs, content }) => {
  const status = RECEIPTS[attrs.type ?? '']
  if (!status || attrs.recipient || isJidGroup(attrs.from) || isJidBroadcast(attrs.from)) return []
  const more = Array.isArray(content) ? content.flatMap((list) => getBinaryNodeChildren(list, 'item')) : []
  const ids = [attrs.id, ...more.map((item) => item.attrs.id)]
  return ids.map((id) => ({ id, chat: attrs.from, status, at: number(attrs.t) }))
}

export const people = (contacts) =>
  contacts.map((one) => ({
    jids: [one.id, one.phoneNumber, one.lid].filter(Boolean),
    name: one.name ?? one.notify ?? '',
    username: one.username ?? '',
  }))

export const pairs = (mappings) => mappings.map(({ lid, pn }) => ({ jids: [pn, lid], name: '', username: '' }))

export const label = ({ id, name, color, deleted }) => ({
  id,
  action: deleted ? 'deleted' : 'changed',
  name: name ?? null,
  color: color ?? null,
})

// The gateway supports labels on chats, but not on single messages.
export const assignment = ({ association, type }) =>
  association.type === 'label_jid'
    ? [{ id: association.labelId, action: type === 'add' ? 'assigned' : 'removed', chat: association.chatId }]
    : []

// A vote identifies its options by their SHA-256; the poll has their texts.
export const chosen = (vote) => vote.selectedOptions.map(base64)

export const options = (asked) => {
  const poll = asked.pollCreationMessage ?? asked.pollCreationMessageV2 ?? asked.pollCreationMessageV3
  return (poll?.options ?? []).map(({ optionName }) => optionName)
}

export const calls = (list) =>
  list
    .filter(({ status, isGroup }) => CALLS[status] && !isGroup)
    .map((call) => ({
      id: call.id,
      kind: CALLS[call.status],
      jids: [call.from, call.callerPn, call.chatId].filter(Boolean),
      at: number(Math.floor(call.date.getTime() / 1000)),
    }))
