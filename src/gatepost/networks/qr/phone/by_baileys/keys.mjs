// The device's credentials and keys, in the form that the library needs. The parent process stores them in a database.
//
// Until a phone is linked, keys are kept in memory only. They are stored with the first credentials that name a phone.
// From then on each change is stored before the library continues.
import { BufferJSON, initAuthCreds, proto } from '@whiskeysockets/baileys'

const write = (value) => JSON.stringify(value, BufferJSON.replacer)
const read = (text) => JSON.parse(text, BufferJSON.reviver)
const revived = (kind, value) =>
  kind === 'app-state-sync-key' ? proto.Message.AppStateSyncKeyData.fromObject(value) : value

export class Keys {
  #ask
  #unlinked = new Map() // kind → id → value, until a phone is linked
  #saving = Promise.resolve()
  #writing = new Set()

  constructor(ask, creds) {
    this.#ask = ask
    this.creds = creds ? read(creds) : initAuthCreds()
    this.kept = Boolean(creds)
  }

  state() {
    return { creds: this.creds, keys: { get: (kind, ids) => this.#get(kind, ids), set: (data) => this.#set(data) } }
  }

  // Saves changes in order; resolves when this one is stored.
  save(update) {
    Object.assign(this.creds, update)
    if (!this.creds.account) return this.#saving
    this.#saving = this.#saving.catch(() => {}).then(() => this.#save())
    return this.#saving
  }

  // Sent messages are stored with the keys for some time: a recipient that could not decrypt one requests it again,
  // also after a restart.
  keepSent(id, message) {
    return this.#set({ sent: { [id]: message } })
  }

  async sent(id) {
    const { [id]: message } = await this.#get('sent', [id])
    return message ? proto.Message.decode(Buffer.from(message, 'base64')) : undefined
  }

  // Resolves when all changes so far are stored.
  saved() {
    return this.#saving
  }

  // Resolves when no write is pending.
  async settled() {
    do {
      await Promise.allSettled([this.#saving, ...this.#writing])
      await new Promise(setImmediate) // code that waited for these may write again
    } while (this.#writing.size)
  }

  async #save() {
    const device = this.creds.me.id
    await this.#ask('creds', { device, value: write(this.creds) })
    if (this.kept) return
    this.kept = true
    const all = Object.fromEntries([...this.#unlinked].map(([kind, values]) => [kind, Object.fromEntries(values)]))
    this.#unlinked.clear()
    await this.#set(all)
  }

  async #get(kind, ids) {
    if (!this.kept) {
      const held = this.#unlinked.get(kind) ?? new Map()
      return Object.fromEntries(ids.filter((id) => held.has(id)).map((id) => [id, held.get(id)]))
    }
    const found = await this.#ask('get', { kind, ids })
    return Object.fromEntries(Object.entries(found).map(([id, text]) => [id, revived(kind, read(text))]))
  }

  async #set(data) {
    if (!this.kept) return this.#hold(data)
    const rows = []
    for (const [kind, values] of Object.entries(data))
      for (const [id, value] of Object.entries(values ?? {})) rows.push([kind, id, value ? write(value) : null])
    if (rows.length) await this.#written(this.#ask('set', { rows }))
  }

  async #written(writing) {
    this.#writing.add(writing)
    try {
      await writing
    } finally {
      this.#writing.delete(writing)
    }
  }

  #hold(data) {
    for (const [kind, values] of Object.entries(data)) {
      const held = this.#unlinked.get(kind) ?? new Map()
      this.#unlinked.set(kind, held)
      for (const [id, value] of Object.entries(values ?? {})) value ? held.set(id, value) : held.delete(id)
    }
  }
}
