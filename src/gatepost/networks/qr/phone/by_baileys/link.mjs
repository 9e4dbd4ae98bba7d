// One linked phone: its socket, from the first code to the end, and what can be asked of it.
//
//   open ─► socket ─► codes ─► paired ─► 515 ─► socket again ─► open ─► … ─► closed (code, words)
//
// An incoming message is told to the process above before the library acknowledges it to the network, and before it
// forgets the key that opened it: what dies in between is sent again, and can be opened again.
import {
  Browsers,
  decodeMessageNode,
  decryptPollVote,
  DEFAULT_CONNECTION_CONFIG,
  jidNormalizedUser,
  makeCacheableSignalKeyStore,
  makeWASocket,
  proto,
  unpadRandomMax16,
} from '@whiskeysockets/baileys'
import { Arrivals } from './arrivals.mjs'
import { download, upload } from './files.mjs'
import { Keys } from './keys.mjs'
import { known } from './known.mjs'
import { logger } from './quiet.mjs'
import * as told from './told.mjs'
import { Turns } from './turns.mjs'

const RESTART = 515
const CONNECTION_CLOSED = 428
const ACKNOWLEDGED_WITHIN = 45_000
const POLLS = 1000
const LATEST = 2000 // messages that were told from their stanza, and come once more as an event

export class Link {
  #wire
  #life
  #keys
  #proxy
  #socket
  #acks = new Map() // id → who waits for the network's word on it
  #polls = new Map() // id → the secret that votes in it are sealed with
  #told = new Set()
  #stanzas = new WeakMap() // ciphertext → the stanza that it came in
  #turns = new Turns()
  #arrivals = new Arrivals()
  #over = false

  constructor(wire, life, creds, proxy) {
    this.#wire = wire
    this.#life = life
    this.#keys = new Keys(wire, life, creds)
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
      browser: Browsers.ubuntu('Chrome'), // the network gives codes to type only to names that it knows
      markOnlineOnConnect: false, // the phone goes on ringing
      syncFullHistory: false,
      emitOwnEvents: false,
      makeSignalRepository: (auth, ...more) => this.#listening(auth.keys, make(auth, ...more)),
      ...this.#proxy,
    })
    this.#socket = socket
    socket.ws.prependListener('CB:message', (stanza) => this.#remember(stanza))
    socket.ws.on('CB:ack,class:message', ({ attrs }) => this.#acknowledged(attrs))
    socket.ws.on('CB:receipt', (stanza) => this.#tellAll('receipts', told.receipts(stanza)))
    socket.ev.on('creds.update', (update) => this.#save(update))
    socket.ev.on('connection.update', (update) => this.#changed(socket, update))
    this.#listen(socket.ev)
  }

  #save(update) {
    const first = !this.#keys.kept
    this.#keys.save(update).then(
      () => first && this.#keys.kept && this.#tell('paired', { device: this.#keys.creds.me.id }),
      (error) => this.close(`The device could not be kept: ${error.message}`),
    )
  }

  #changed(socket, { connection, qr, lastDisconnect, reachoutTimeLock }) {
    if (socket !== this.#socket || this.#over) return
    if (qr) this.#tell('code', { code: qr })
    if (reachoutTimeLock) this.#tell('lock', { on: reachoutTimeLock.isActive, until: seconds(reachoutTimeLock) })
    if (connection === 'open') this.#tell('open')
    if (connection === 'close') this.#closed(lastDisconnect?.error)
  }

  #closed(error) {
    this.#fail(new Error('The connection ended before the network answered.'))
    const code = error?.output?.statusCode ?? 0
    if (code === RESTART) {
      // The new connection reads the keys that the pairing made: they have to be where it looks for them.
      this.#keys.saved().then(() => this.#over || this.#connect(), () => {})
    } else {
      this.#end(code, String(error?.message ?? ''))
    }
  }

  #end(code, words) {
    if (this.#over) return
    this.#over = true
    this.#tell('closed', { code, words })
  }

  async close(words = '') {
    const socket = this.#socket
    this.#end(0, words)
    this.#fail(new Error('The link was closed.'))
    await socket.end(undefined)
    await this.#keys.settled()
    this.#wire.drop(this.#life)
  }

  // -- what happens --------------------------------------------------------------------------------------------------

  #listen(ev) {
    ev.on('messages.upsert', ({ messages }) => messages.forEach((message) => this.#upserted(message)))
    ev.on('contacts.upsert', (contacts) => this.#tellAll('people', told.people(contacts)))
    ev.on('lid-mapping.update', (mapping) => this.#tellAll('people', told.pairs([mapping])))
    ev.on('messaging-history.set', ({ contacts, lidPnMappings }) =>
      this.#tellAll('people', [...told.people(contacts), ...told.pairs(lidPnMappings ?? [])]),
    )
    ev.on('labels.edit', (label) => this.#tellAll('labels', [told.label(label)]))
    ev.on('labels.association', (association) => this.#tellAll('labels', told.assignment(association)))
    ev.on('call', (list) => this.#tellAll('calls', told.calls(list)))
  }

  #listening(keys, repository) {
    const decrypt = repository.decryptMessage.bind(repository)
    const openAndTell = async (asked) => {
      const padded = await decrypt(asked)
      await this.#arrived(this.#stanzas.get(asked.ciphertext), unpadRandomMax16(padded))
      return padded
    }
    // The library's own transaction becomes a part of this one.
    const open = (asked) => this.#turns.shared(() => keys.transaction(() => openAndTell(asked), asked.jid))
    repository.decryptMessage = (asked) =>
      this.#arrivals.inOrder(this.#stanzas.get(asked.ciphertext), () => open(asked))
    return repository
  }

  #remember(stanza) {
    if (!Array.isArray(stanza.content)) return
    const sealed = stanza.content.filter(({ tag, content }) => tag === 'enc' && content)
    for (const { content } of sealed) this.#stanzas.set(content, stanza)
    if (sealed.length) this.#arrivals.add(stanza)
  }

  async #arrived(stanza, plain) {
    if (!stanza) return
    const { me } = this.#keys.creds
    const { fullMessage } = decodeMessageNode(stanza, me.id, me.lid ?? '')
    this.#told.add(fullMessage.key.id)
    if (this.#told.size > LATEST) this.#told.delete(this.#told.values().next().value)
    await this.#wire.ask('message', this.#life, told.fromStanza(stanza, fullMessage.key, plain))
  }

  #upserted(message) {
    if (this.#told.has(message.key.id)) return
    if (message.message || told.neverShown(message)) this.#tell('upserted', told.fromUpsert(message))
  }

  #tell(news, fields) {
    this.#wire.tell(news, this.#life, fields)
  }

  #tellAll(news, list) {
    if (list.length) this.#tell(news, { list })
  }

  // -- what can be asked ---------------------------------------------------------------------------------------------

  me() {
    const { id, lid, name } = this.#keys.creds.me ?? {}
    return { id: id ?? null, lid: lid ?? null, name: name ?? '' }
  }

  async send({ to, message, id, extra }) {
    const said = proto.Message.decode(Buffer.from(message, 'base64'))
    if (extra.poll) this.#keepSecret(id, said)
    const answer = this.#acknowledgement(id)
    try {
      const options = {
        messageId: id,
        additionalAttributes: extra.edit ? { edit: extra.edit } : {},
        additionalNodes: extra.poll ? [{ tag: 'meta', attrs: { polltype: 'creation' } }] : [],
      }
      await this.#turns.alone(() => this.#socket.relayMessage(to, said, options))
    } catch (error) {
      this.#acks.delete(id)
      throw Object.assign(error, { sure: error?.output?.statusCode === CONNECTION_CLOSED })
    }
    return answer
  }

  #acknowledgement(id) {
    const answer = new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('The network did not acknowledge in time.')), ACKNOWLEDGED_WITHIN)
      const done = (settle) => (value) => (clearTimeout(late), this.#acks.delete(id), settle(value))
      this.#acks.set(id, { resolve: done(resolve), reject: done(reject) })
    })
    answer.catch(() => {}) // whoever waits hears of it; nobody else needs to
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

  #keepSecret(id, said) {
    this.#polls.set(id, said.messageContextInfo?.messageSecret)
    if (this.#polls.size > POLLS) this.#polls.delete(this.#polls.keys().next().value)
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
    return download(kind, file, path, this.#proxy.options)
  }

  async order({ id, token }) {
    return this.#socket.getOrderDetails(id, token)
  }

  // Who votes and who asked are sealed into a vote under the names that the chat goes by: each of theirs is tried.
  vote({ poll, payload, iv, voters }) {
    const secret = this.#polls.get(poll)
    if (!secret) throw new Error('The poll was not sent from here.')
    const { id, lid } = this.#keys.creds.me
    const sealed = { encPayload: Buffer.from(payload, 'base64'), encIv: Buffer.from(iv, 'base64') }
    for (const creator of [id, lid].filter(Boolean).map(jidNormalizedUser))
      for (const voter of voters.map(jidNormalizedUser)) {
        const names = { pollCreatorJid: creator, pollMsgId: poll, pollEncKey: secret, voterJid: voter }
        const vote = opened(sealed, names)
        if (vote) return Buffer.from(proto.Message.PollVoteMessage.encode(vote).finish()).toString('base64')
      }
    throw new Error('The vote could not be opened.')
  }

  async logout() {
    await this.#socket.logout()
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
