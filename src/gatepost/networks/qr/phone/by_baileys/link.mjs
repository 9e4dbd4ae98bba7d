// One linked phone: its socket, from the first code to the end, and the requests to it.
//
//   open ─► socket ─► codes ─► paired ─► 515 ─► socket again ─► open ─► … ─► closed (code, words)
//
// An incoming message is stored by the parent process before the library acknowledges it to the network, and before the
// key that decrypted it is deleted. After a crash in between, the network sends it again and it can be decrypted again.
import {
  areJidsSameUser,
  Browsers,
  decodeMessageNode,
  decryptPollVote,
  DEFAULT_CONNECTION_CONFIG,
  jidNormalizedUser,
  makeCacheableSignalKeyStore,
  makeWASocket,
  proto,
  S_WHATSAPP_NET,
  unpadRandomMax16,
} from '@whiskeysockets/baileys'
import { download, upload } from './files.mjs'
import { Keys } from './keys.mjs'
import { known } from './known.mjs'
import { logger } from './quiet.mjs'
import * as events from './events.mjs'
import { Turns } from './turns.mjs'

const RESTART = 515
const LOGGED_OUT = 401
const CONNECTION_CLOSED = 428
const OURS = 1 // not a code of the network: the failure is on our side
const ACKNOWLEDGED_WITHIN = 45_000
const UNLINKED_WITHIN = 20_000
const UNLINK = 'unlink' // in place of the id of a message
const NO_ANSWER = 'The network did not acknowledge in time.'
const LATEST = 2000 // ids of messages already reported from their stanza, which the library also emits as events

export class Link {
  #wire
  #life
  #keys
  #proxy
  #socket
  #acks = new Map() // id → the promise that waits for the network's acknowledgement
  #reported = new Set()
  #stanzas = new WeakMap() // ciphertext → its stanza
  #turns = new Turns()
  #over = false

  constructor(wire, life, creds, proxy) {
    this.#wire = wire
    this.#life = life
    this.#keys = new Keys((what, fields) => this.#ask(what, fields), creds)
    this.#proxy = proxy
    this.#connect()
  }

  // -- the connection ------------------------------------------------------------------------------------------------

  #connect() {
    const { creds, keys } = this.#keys.state()
    const make = DEFAULT_CONNECTION_CONFIG.makeSignalRepository
    const socket = makeWASocket({
      auth: { creds, keys: makeCacheableSignalKeyStore(keys, logger) },
      logger,
      browser: Browsers.ubuntu('Chrome'), // the network issues codes to type only to browser names that it knows
      markOnlineOnConnect: false, // the phone keeps its notifications
      syncFullHistory: false,
      emitOwnEvents: false,
      getMessage: ({ id }) => this.#keys.sent(id), // for recipients that could not decrypt it and request it again
      makeSignalRepository: (auth, ...more) => this.#listening(auth.keys, make(auth, ...more)),
      ...this.#proxy,
    })
    this.#socket = socket
    this.#inOrder(socket.ws, 'CB:message', (stanza) => this.#remember(stanza))
    this.#inOrder(socket.ws, 'CB:receipt', (stanza) => this.#receipts(events.receipts(stanza)))
    socket.ws.on('CB:ack,class:message', ({ attrs }) => this.#acknowledged(attrs))
    socket.ev.on('creds.update', (update) => this.#save(update))
    socket.ev.on('connection.update', (update) => this.#changed(socket, update))
    this.#listen(socket.ev)
  }

  #save(update) {
    const first = !this.#keys.kept
    this.#keys.save(update).then(
      () => first && this.#keys.kept && this.#emit('paired', { device: this.#keys.creds.me.id }),
      () => {}, // #ask has already closed the connection
    )
  }

  #changed(socket, { connection, qr, lastDisconnect, reachoutTimeLock }) {
    if (socket !== this.#socket || this.#over) return
    if (qr) this.#emit('code', { code: qr })
    if (reachoutTimeLock) this.#emit('lock', { on: reachoutTimeLock.isActive, until: seconds(reachoutTimeLock) })
    if (connection === 'open') this.#emit('open')
    if (connection === 'close') this.#closed(lastDisconnect?.error)
  }

  #closed(error) {
    const code = error?.output?.statusCode ?? 0
    if (code === LOGGED_OUT) this.#acks.get(UNLINK)?.resolve() // the network may not answer before it
    this.#fail(new Error('The connection ended before the network answered.'))
    if (code === RESTART) {
      // The new connection reads the keys of the pairing, so they must be stored first.
      this.#keys.saved().then(() => this.#over || this.#connect(), () => {})
    } else {
      this.#end(code, String(error?.message ?? ''))
    }
  }

  #end(code, words) {
    if (this.#over) return
    this.#over = true
    this.#emit('closed', { code, words })
  }

  async close(code = 0, words = '') {
    const socket = this.#socket
    this.#end(code, words)
    this.#fail(new Error('The link was closed.'))
    await socket.end(undefined)
    await this.#keys.settled()
    this.#wire.drop(this.#life)
  }

  // To the library, a failure on our side would look like a message that cannot be decrypted, and the message would be
  // lost. So the connection is closed first; the network sends unacknowledged messages again.
  async #ask(what, fields) {
    try {
      return await this.#wire.ask(what, this.#life, fields)
    } catch (error) {
      this.close(OURS, error.message)
      throw error
    }
  }

  // -- events --------------------------------------------------------------------------------------------------------

  #listen(ev) {
    ev.on('messages.upsert', ({ messages }) => messages.forEach((message) => this.#upserted(message)))
    ev.on('contacts.upsert', (contacts) => this.#emitAll('people', events.people(contacts)))
    ev.on('lid-mapping.update', (mapping) => this.#emitAll('people', events.pairs([mapping])))
    ev.on('messaging-history.set', ({ contacts, lidPnMappings }) =>
      this.#emitAll('people', [...events.people(contacts), ...events.pairs(lidPnMappings ?? [])]),
    )
    ev.on('labels.edit', (label) => this.#emitAll('labels', [events.label(label)]))
    ev.on('labels.association', (association) => this.#emitAll('labels', events.assignment(association)))
    ev.on('call', (list) => this.#emitAll('calls', events.calls(list)))
  }

  // The library's own transaction becomes part of this one. A group message has two parts: the key of the group's
  // messages, encrypted for each device, and the message itself.
  #listening(keys, repository) {
    const [open, openOfGroup] = [repository.decryptMessage, repository.decryptGroupMessage]
    const telling = (whose, sealed, decrypt) =>
      this.#turns.shared(() => keys.transaction(() => this.#openAndTell(sealed, decrypt), whose))
    repository.decryptMessage = (asked) => telling(asked.jid, asked.ciphertext, () => open.call(repository, asked))
    repository.decryptGroupMessage = (asked) => telling(asked.group, asked.msg, () => openOfGroup.call(repository, asked))
    return repository
  }

  async #openAndTell(sealed, decrypt) {
    const padded = await decrypt()
    await this.#arrived(this.#stanzas.get(sealed), unpadRandomMax16(padded))
    return padded
  }

  // The library looks up the sender before it queues a message, so a second message of a new sender could overtake the
  // first. Each stanza is therefore passed on only after the previous one is handled.
  #inOrder(ws, kind, before) {
    const takers = ws.listeners(kind)
    ws.removeAllListeners(kind)
    const take = async (stanza) => {
      await before(stanza)
      await Promise.all(takers.map((taker) => taker(stanza)))
    }
    let turn = Promise.resolve()
    ws.on(kind, (stanza) => (turn = turn.then(() => take(stanza)).catch(() => {})))
  }

  // Reports receipts of our messages; the library acknowledges them afterwards.
  #receipts(list) {
    return list.length ? this.#ask('receipts', { list }) : undefined
  }

  #remember(stanza) {
    if (!Array.isArray(stanza.content)) return
    for (const { tag, content } of stanza.content) if (tag === 'enc' && content) this.#stanzas.set(content, stanza)
  }

  async #arrived(stanza, plain) {
    if (!stanza) return
    const { me } = this.#keys.creds
    const { key } = decodeMessageNode(stanza, me.id, me.lid ?? '').fullMessage
    // The library compares the sender of a message to a list with our phone number only.
    if (me.lid && areJidsSameUser(stanza.attrs.participant, me.lid)) key.fromMe = true
    this.#reported.add(key.id)
    if (this.#reported.size > LATEST) this.#reported.delete(this.#reported.values().next().value)
    await this.#ask('message', events.fromStanza(stanza, key, plain))
  }

  #upserted(message) {
    if (this.#reported.has(message.key.id)) return
    if (message.message || events.neverShown(message)) this.#emit('upserted', events.fromUpsert(message))
  }

  #emit(update, fields) {
    this.#wire.emit(update, this.#life, fields)
  }

  #emitAll(update, list) {
    if (list.length) this.#emit(update, { list })
  }

  // -- requests ------------------------------------------------------------------------------------------------------

  me() {
    const { id, lid, name } = this.#keys.creds.me ?? {}
    return { id: id ?? null, lid: lid ?? null, name: name ?? '' }
  }

  async send({ to, message, id, extra }) {
    const said = proto.Message.decode(Buffer.from(message, 'base64'))
    const answer = this.#acknowledgement(id)
    try {
      const options = {
        messageId: id,
        additionalAttributes: extra.edit ? { edit: extra.edit } : {},
        additionalNodes: extra.poll ? [{ tag: 'meta', attrs: { polltype: 'creation' } }] : [],
      }
      await this.#turns.alone(async () => {
        await this.#prepare(id, message)
        await this.#socket.relayMessage(to, said, options)
      })
    } catch (error) {
      this.#acks.get(id)?.reject(error)
      throw Object.assign(error, { sure: error?.sure ?? error?.output?.statusCode === CONNECTION_CLOSED })
    }
    return answer
  }

  // A failure before the library has the message means that it was certainly not sent.
  async #prepare(id, message) {
    try {
      if (this.#over) throw new Error('The link is closed.')
      await this.#keys.keepSent(id, message)
    } catch (error) {
      throw Object.assign(error, { sure: true })
    }
  }

  #acknowledgement(id) {
    const answer = new Promise((resolve, reject) => {
      const done = (settle) => (value) => {
        clearTimeout(late)
        if (this.#acks.get(id) === waiting) this.#acks.delete(id)
        settle(value)
      }
      const waiting = { resolve: done(resolve), reject: done(reject) }
      const late = setTimeout(() => waiting.reject(new Error(NO_ANSWER)), ACKNOWLEDGED_WITHIN)
      this.#acks.set(id, waiting)
    })
    answer.catch(() => {}) // avoids an unhandled rejection; the caller still gets the error
    return answer
  }

  #acknowledged({ id, t, error }) {
    const waiting = this.#acks.get(id)
    if (!waiting) return
    if (error) waiting.reject(refused(Number(error)))
    else waiting.resolve({ id, at: Number(t ?? 0) })
  }

  #fail(error) {
    for (const waiting of [...this.#acks.values()]) waiting.reject(error)
  }

  known({ phones }) {
    return known(this.#socket, phones)
  }

  async read({ chat, ids }) {
    await this.#socket.readMessages(ids.map((id) => ({ remoteJid: chat, id, fromMe: false })))
  }

  async typing({ chat, on }) {
    await this.#socket.sendPresenceUpdate(on ? 'composing' : 'paused', chat)
  }

  pair({ phone }) {
    return this.#socket.requestPairingCode(phone)
  }

  upload({ kind, path }) {
    return upload(this.#socket, kind, path)
  }

  download({ kind, file, path }) {
    return download(this.#socket, kind, file, path, this.#proxy.options)
  }

  async order({ id, token }) {
    return this.#socket.getOrderDetails(id, token)
  }

  // The key of a vote depends on the JIDs of the voter and of the poll's creator, and each may be a phone number or a
  // hidden id. So all combinations are tried.
  async vote({ poll, payload, iv, voters }) {
    const asked = await this.#keys.sent(poll)
    const secret = asked?.messageContextInfo?.messageSecret
    if (!secret) throw new Error('The poll was not sent from here, or long ago.')
    const { id, lid } = this.#keys.creds.me
    const sealed = { encPayload: Buffer.from(payload, 'base64'), encIv: Buffer.from(iv, 'base64') }
    for (const creator of [id, lid].filter(Boolean).map(jidNormalizedUser))
      for (const voter of voters.map(jidNormalizedUser)) {
        const names = { pollCreatorJid: creator, pollMsgId: poll, pollEncKey: secret, voterJid: voter }
        const vote = opened(sealed, names)
        if (vote) return { chosen: events.chosen(vote), options: events.options(asked) }
      }
    throw new Error('The vote could not be opened.')
  }

  // Not the library's own logout, which does not wait for the network's answer: if the connection failed at that moment,
  // the phone would stay linked, to a device whose keys are deleted.
  async logout() {
    const device = { tag: 'remove-companion-device', attrs: { jid: this.#keys.creds.me.id, reason: 'user_initiated' } }
    const query = { tag: 'iq', attrs: { to: S_WHATSAPP_NET, type: 'set', xmlns: 'md' }, content: [device] }
    // The library's query does not fail when the connection ends, and resolves to nothing after its time limit.
    const confirmed = this.#acknowledgement(UNLINK)
    const { resolve, reject } = this.#acks.get(UNLINK)
    const asked = this.#socket.query(query, UNLINKED_WITHIN)
    asked.then((answer) => (answer ? resolve() : reject(new Error(NO_ANSWER))), reject)
    await confirmed
    this.#end(LOGGED_OUT, 'Intentional Logout')
  }
}

const refused = (code) => Object.assign(new Error(`server returned error ${code}`), { refusal: code, sure: true })

const opened = (sealed, names) => {
  try {
    return decryptPollVote(sealed, names)
  } catch {
    return null
  }
}

const seconds = ({ timeEnforcementEnds }) => (timeEnforcementEnds ? timeEnforcementEnds.getTime() / 1000 : null)
