// What people and the phone itself send to a linked device.
import { deflateSync } from 'node:zlib'
import { deliveryKey } from './device.mjs'
import { baileys, proto } from './library.mjs'
import { bytesOf, child, lidJid, node, now, numberOf, phoneJid } from './nodes.mjs'
import { readKey, readSignedKey } from './signal.mjs'

const { HISTORY_SYNC_NOTIFICATION, APP_STATE_SYNC_KEY_SHARE } = proto.Message.ProtocolMessage.Type
const { INITIAL_BOOTSTRAP, PUSH_NAME } = proto.HistorySync.HistorySyncType

// Padding makes lengths say nothing; the library takes the last byte for the length of the pad.
const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(8, 8)])
const bytesFrom = (base64) => Buffer.from(base64, 'base64')

const kindOf = (bytes) => {
  const content = baileys.getContentType(proto.Message.decode(bytes)) ?? ''
  if (/^(image|video|audio|document|sticker|ptv|contact|location|order|product)/.test(content)) return 'media'
  return /^(reaction|poll)/.exec(content)?.[0] ?? 'text'
}

/** Queues one encrypted stanza of this writer for the device. */
const write = (device, writer, attrs, plain, later = false) => {
  const make = async () => node('message', attrs, [await writer.encrypt(device, padded(plain))])
  device.said ??= new Map()
  device.said.set(attrs.id, { writer, attrs, plain })
  return device.deliver(deliveryKey('message', attrs.id), make, later)
}

/** A person writes to the owner, alone or in a group; `hidden`: the network does not tell the number. */
export const say = (world, { from, id, message, offline, at = now(), addressing = 'lid', group, hidden, account }) => {
  const person = world.person(from)
  const plain = bytesFrom(message)
  const other = addressing === 'pn' ? { sender_lid: person.jid('lid') } : { sender_pn: person.jid('pn') }
  const alone = { from: person.jid(addressing), ...(hidden ? {} : other) }
  const many = group?.includes('@') ? group : `${group}@g.us`
  const who = group ? { from: many, participant: person.jid(addressing) } : alone
  const attrs = { ...who, id, t: String(at), type: kindOf(plain), notify: person.name }
  return write(world.device(account), person, attrs, plain, offline)
}

/** The owner writes on the phone, to a person or to a list; the device gets a copy. */
export const sayAsOwner = (world, { to, id, message, offline, at = now(), addressing = 'lid', list, account }) => {
  const device = world.device(account)
  const person = world.person(to)
  const plain = bytesFrom(message)
  const sent = { destinationJid: person.jid(addressing), message: proto.Message.decode(plain) }
  const inLid = addressing !== 'pn'
  const other = inLid ? { peer_recipient_pn: person.jid('pn') } : { peer_recipient_lid: person.jid('lid') }
  const own = device.phone.jid(addressing)
  const alone = { from: own, recipient: person.jid(addressing), ...other }
  const attrs = { ...(list ? { from: list, participant: own } : alone), id, t: String(at) }
  const copy = proto.Message.encode({ deviceSentMessage: sent }).finish()
  return write(device, device.phone, { ...attrs, type: kindOf(plain), notify: device.phone.name }, copy, offline)
}

/** The phone tells its device something that is no chat. */
const tellDevice = (device, protocolMessage) => {
  const id = `PEER${(device.peers = (device.peers ?? 0) + 1)}.${Date.now()}`
  const attrs = { from: device.phone.jid('pn'), id, t: String(now()), type: 'text', category: 'peer' }
  return write(device, device.phone, attrs, proto.Message.encode({ protocolMessage }).finish())
}

/** Hands over the key that synced state is encrypted with. */
const shareStateKey = (device) => {
  const { id, data } = device.phone.stateKey
  const fingerprint = { rawId: 1, currentIndex: 0, deviceIndexes: [0] }
  const keyData = { keyData: data, timestamp: Date.now(), fingerprint }
  const keys = [{ keyId: { keyId: id }, keyData }]
  return tellDevice(device, { type: APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys } })
}

const conversationOf = ({ phone, lid, name }) => ({ id: lidJid(lid), pnJid: phoneJid(phone), name })

const namesOf = ({ phone, name }) => ({ id: phoneJid(phone), pushname: name })
const mappingOf = ({ phone, lid }) => ({ pnJid: phoneJid(phone), lidJid: lidJid(lid) })

const historyOf = (syncType, contacts) => ({
  syncType,
  progress: 100,
  conversations: syncType === INITIAL_BOOTSTRAP ? contacts.map(conversationOf) : [],
  pushnames: contacts.map(namesOf),
  phoneNumberToLidMappings: contacts.map(mappingOf),
})

const tellHistory = (device, syncType, contacts) => {
  const payload = deflateSync(proto.HistorySync.encode(historyOf(syncType, contacts)).finish())
  const historySyncNotification = { syncType, chunkOrder: 1, progress: 100, initialHistBootstrapInlinePayload: payload }
  return tellDevice(device, { type: HISTORY_SYNC_NOTIFICATION, historySyncNotification })
}

/** Names that the phone knows, sent after the login. */
export const tellNames = (device, contacts) => tellHistory(device, PUSH_NAME, contacts)

/** What a phone sends to a device it has just linked: without it the library waits 20 seconds. */
export const welcome = async (world, device) => {
  await shareStateKey(device)
  await tellHistory(device, INITIAL_BOOTSTRAP, world.history)
}

/** The device could not read a message and sent fresh keys: the same message once more. */
export const sendAgain = async (world, device, receipt) => {
  const said = device.said?.get(receipt.attrs.id)
  if (!said) return
  const count = child(receipt, 'retry')?.attrs.count ?? '1'
  takeFreshKeys(device, receipt)
  said.writer.forget(device)
  const make = async () => {
    const sealed = await said.writer.encrypt(device, padded(said.plain))
    return node('message', said.attrs, [node('enc', { ...sealed.attrs, count }, sealed.content)])
  }
  await device.deliver(deliveryKey('message', said.attrs.id), make)
}

const takeFreshKeys = (device, receipt) => {
  const keys = child(receipt, 'keys')
  if (!keys) return
  device.identity = bytesOf(keys, 'identity')
  device.registration = numberOf(receipt, 'registration')
  device.signedKey = readSignedKey(keys)
  const oneTimeKey = readKey(child(keys, 'key'))
  if (oneTimeKey) device.oneTimeKeys.unshift(oneTimeKey)
}

const RECEIPT_TYPES = { delivered: undefined, read: 'read', played: 'played' }

/** A person's phone got, showed or played messages of the owner. */
export const receipt = (world, { from, ids, type = 'delivered', at = now(), addressing, account }) => {
  if (!(type in RECEIPT_TYPES)) throw new Error(`no receipt type ${type}`)
  const jid = world.person(from).jid(addressing ?? world.addressedAs.get(ids[0]))
  const more = ids.slice(1).map((id) => node('item', { id }))
  const attrs = { from: jid, id: ids[0], t: String(at), type: RECEIPT_TYPES[type] }
  const stanza = node('receipt', attrs, more.length ? [node('list', {}, more)] : undefined)
  return world.device(account).deliver(deliveryKey('receipt', ids[0], RECEIPT_TYPES[type]), async () => stanza)
}

/** A person rings, or (kind terminate) stops ringing. */
export const call = (world, kind, { from, id, at = now(), video = false, reason, account }) => {
  const person = world.person(from)
  const about = { 'call-id': id, 'call-creator': person.jid(), caller_pn: person.jid('pn'), reason }
  const action = node(kind, about, video ? [node('video')] : [node('audio')])
  const stanza = node('call', { from: person.jid(), id: `${kind}-${id}`, t: String(at) }, [action])
  return world.device(account).deliver(deliveryKey('call', stanza.attrs.id), async () => stanza)
}

/** A person types, records or stops. Nothing to confirm: a device that is away misses it. */
export const typing = (world, { from, state = 'composing', addressing, account }) => {
  const shown = state === 'recording' ? node('composing', { media: 'audio' }) : node(state)
  const { connection } = world.device(account)
  connection?.send(node('chatstate', { from: world.person(from).jid(addressing) }, [shown]))
}
