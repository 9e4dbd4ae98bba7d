// What a linked device sends, by kind: queries go on to queries.mjs, the rest is read here.
import { baileys } from './library.mjs'
import { deliveryKey } from './device.mjs'
import { child, children, node, now, numbered, readJid } from './nodes.mjs'
import { answerQuery } from './queries.mjs'
import { sendAgain } from './saying.mjs'

const NOBODY = 404

const ackOf = ({ tag, attrs }, extra = {}) =>
  node('ack', { id: attrs.id, class: tag, from: attrs.to, t: String(now()), type: attrs.type, ...extra })

/** Hands a stanza to what handles its kind. */
export const takeStanza = (world, connection, stanza) => {
  const handle = KINDS[stanza.tag]
  if (!handle) return console.error('no handling for', stanza.tag)
  return handle(world, connection, stanza)
}

const takeQuery = async (world, connection, stanza) => {
  if (stanza.attrs.type === 'result' || stanza.attrs.type === 'error') return
  const answer = await answerQuery(world, connection, stanza)
  if (answer) connection.send(answer)
}

const takeMessage = async (world, connection, stanza) => {
  const { id, to, category, edit } = stanza.attrs
  const person = world.find(to)
  const message = await readCopies(world, connection.device, stanza, person)
  const refused = refusalFor(world, person)
  if (category === 'peer') world.tell({ saw: 'peer_message', id, to, message })
  else noteMessage(world, { id, to, account: accountOf(connection), phone: person?.number, edit, refused, message })
  if (isLost(world, person)) return connection.cut()
  if (!world.silent) connection.send(ackOf(stanza, refused ? { error: String(refused) } : {}))
  if (message === null && person && !refused) await askAgain(connection.device, stanza.attrs, person)
}

// A phone that cannot read a message asks for it once more, to be sealed with fresh keys.
export const askAgain = (device, { id, to }, person) => {
  const t = String(now())
  const asked = [node('retry', { v: '1', count: '1', id, t }), node('registration', {}, numbered(person.registration))]
  const stanza = node('receipt', { from: to, id, type: 'retry', t }, asked)
  return device.deliver(deliveryKey('receipt', id, 'retry'), async () => stanza)
}

const accountOf = ({ device }) => device.phone.number

const noteMessage = (world, seen) => {
  world.seen.push(seen.id)
  world.addressedAs.set(seen.id, readJid(seen.to).server === 'lid' ? 'lid' : 'pn')
  world.tell({ saw: 'message', ...seen })
}

const refusalFor = (world, person) => {
  if (!person) return NOBODY
  const rule = world.refused.get(person.number)
  return rule && rule.times-- > 0 ? rule.code : null
}

// Taken, and then the line breaks before the answer: the device cannot know.
const isLost = (world, person) => {
  const left = world.lost.get(person?.number) ?? 0
  world.lost.set(person?.number, left - 1)
  return left === 1
}

// Every copy is read, or the sender's ratchet and ours would drift apart; only the addressee's is told.
const readCopies = async (world, device, stanza, person) => {
  let told = null
  const direct = child(stanza, 'enc')
  if (direct && person) told = await readCopy(person, device, direct)
  for (const copy of children(child(stanza, 'participants'), 'to')) {
    const reader = world.find(copy.attrs.jid)
    if (!reader || readJid(copy.attrs.jid).device !== 0) continue
    const plain = await readCopy(reader, device, child(copy, 'enc'))
    if (reader === person) told ??= plain
  }
  return told
}

// Null where the copy cannot be read: the server itself would not notice.
const readCopy = async (reader, device, sealed) => {
  try {
    const padded = await reader.decrypt(device, sealed)
    return Buffer.from(baileys.unpadRandomMax16(padded)).toString('base64')
  } catch (error) {
    console.error('cannot read a message', error)
    return null
  }
}

const idsOf = (stanza) => [stanza.attrs.id, ...children(child(stanza, 'list'), 'item').map(({ attrs }) => attrs.id)]

const takeReceipt = async (world, connection, stanza) => {
  const { type } = stanza.attrs
  const to = stanza.attrs.recipient ?? stanza.attrs.to
  const { device } = connection
  const ids = idsOf(stanza)
  connection.send(ackOf(stanza))
  if (type === 'hist_sync') device.hasHistory = true
  if (type === 'retry') await sendAgain(world, device, stanza)
  else for (const id of ids) device.confirm(deliveryKey('message', id))
  world.tell({ saw: 'receipt', type: type ?? 'delivered', ids, to, phone: world.find(to)?.number })
}

const takeAck = (world, { device }, { attrs }) => {
  device?.confirm(deliveryKey(attrs.class, attrs.id, attrs.type))
  if (attrs.error) world.tell({ saw: 'refused', id: attrs.id, class: attrs.class, code: Number(attrs.error) })
}

const takePresence = (world, connection, { attrs }) =>
  world.tell({ saw: 'presence', type: attrs.type ?? null, name: attrs.name, to: attrs.to })

const takeChatstate = (world, connection, stanza) => {
  const [state] = children(stanza)
  const { to } = stanza.attrs
  const name = state.attrs.media === 'audio' ? 'recording' : state.tag
  world.tell({ saw: 'chatstate', to, phone: world.find(to)?.number, state: name })
}

const takeCall = (world, connection, stanza) => {
  const [action] = children(stanza)
  world.tell({ saw: 'call', action: action.tag, id: action.attrs['call-id'], to: stanza.attrs.to })
  connection.send(ackOf(stanza, { type: action.tag }))
}

const KINDS = {
  iq: takeQuery,
  message: takeMessage,
  receipt: takeReceipt,
  ack: takeAck,
  presence: takePresence,
  chatstate: takeChatstate,
  call: takeCall,
  ib: () => {},
}
