// A linked device as the server keeps it: its keys, its connection, and what it has not yet confirmed.
//
//   deliver ──► unconfirmed ──► sent when connected ──► gone once the device confirms it
//                    ╰──────► sent again, marked offline, at the next login
import { children, lidJid, node, now, phoneJid, SERVER } from './nodes.mjs'
import { asBundle, bundleNode, readKey, readSignedKey } from './signal.mjs'

const FEW_KEYS = 5

/** Names a delivery so that the device's confirmation finds it. */
export const deliveryKey = (tag, id, type = '') => `${tag} ${id} ${tag === 'receipt' ? (type ?? '') : ''}`

export class Device {
  constructor(phone, { noiseKey, identity, registration, signedKey }) {
    this.phone = phone
    this.number = ++phone.lastDevice
    Object.assign(this, { noiseKey, identity, registration, signedKey })
    this.oneTimeKeys = []
    this.connection = null
    this.online = false
    this.hasHistory = false
    this.unconfirmed = new Map()
    this.turn = Promise.resolve()
  }

  get jid() {
    return phoneJid(this.phone.number, this.number)
  }

  get lid() {
    return lidJid(this.phone.lid, this.number)
  }

  /** Keeps the keys of an upload. */
  storeKeys(upload) {
    this.signedKey = readSignedKey(upload) ?? this.signedKey
    const list = children(upload, 'list')[0]
    this.oneTimeKeys.push(...children(list, 'key').map(readKey))
  }

  keys() {
    const { registration, identity, signedKey } = this
    const oneTimeKey = this.oneTimeKeys.shift()
    if (this.oneTimeKeys.length === FEW_KEYS) this.askForKeys()
    return { registration, identity, signedKey, oneTimeKey }
  }

  takeBundle() {
    return asBundle(this.keys())
  }

  bundle(jid) {
    return bundleNode(jid, this.keys())
  }

  askForKeys() {
    const count = node('count', { value: String(FEW_KEYS) })
    this.notify('encrypt', [count])
  }

  notify(type, content) {
    const id = `n${now()}.${(this.notified = (this.notified ?? 0) + 1)}`
    const stanza = node('notification', { id, from: SERVER, type, t: String(now()) }, content)
    return this.deliver(deliveryKey('notification', id), async () => stanza)
  }

  /** Sends what `make` builds, now or (later = true, or not connected) at the next login. */
  deliver(key, make, later = false) {
    const entry = { make, stanza: null }
    return this.inTurn(async () => {
      if (this.online && !later) this.connection.send(await this.built(entry))
      this.unconfirmed.set(key, entry)
    })
  }

  /** One after the other: a later message must not overtake an earlier one. */
  inTurn(step) {
    const mine = this.turn.then(step)
    this.turn = mine.catch(() => {})
    return mine
  }

  async built(entry) {
    entry.stanza ??= await entry.make()
    return entry.stanza
  }

  confirm(key) {
    this.unconfirmed.delete(key)
  }

  /** After a login: all that waited, then the sign that nothing more waits. */
  goOnline(connection) {
    return this.inTurn(async () => {
      const waiting = [...this.unconfirmed.values()]
      connection.send(node('ib', { from: SERVER }, [node('offline_preview', { count: String(waiting.length) })]))
      for (const entry of waiting) {
        const { tag, attrs, content } = await this.built(entry)
        connection.send(node(tag, { ...attrs, offline: '1' }, content))
      }
      connection.send(node('ib', { from: SERVER }, [node('offline', { count: String(waiting.length) })]))
      this.online = this.connection === connection
    })
  }

  disconnected(connection) {
    if (this.connection !== connection) return
    this.connection = null
    this.online = false
  }
}
