// The device's credentials and keys, as the library wants them: kept by the process above, in its database.
//
// Until a phone is linked there is nothing worth keeping: keys stay in memory, and go to the database with the first
// credentials that name a phone. From then on each change is there before the library goes on.
import { BufferJSON, initAuthCreds, proto } from '@whiskeysockets/baileys'

const write = (value) => JSON.stringify(value, BufferJSON.replacer)
const read = (text) => JSON.parse(text, BufferJSON.reviver)
const revived = (kind, value) =>
  kind === 'app-state-sync-key' ? proto.Message.AppStateSyncKeyData.fromObject(value) : value

export class Keys {
  #ask
  #unlinked = new Map() // kind → id → value, as long as nobody has scanned the code
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

  // Saves in the order of the changes; resolves when this one is kept.
  save(update) {
    Object.assign(this.creds, update)
    if (!this.creds.account) return this.#saving
    this.#saving = this.#saving.catch(() => {}).then(() => this.#save())
    return this.#saving
  }

  // Every message is kept for a while, beside the keys: whoever could not read it asks for it again, also after a restart.
  keepSent(id, message) {
    return this.#set({ sent: { [id]: message } })
  }

  async sent(id) {
    const { [id]: message } = await this.#get('sent', [id])
    return message ? proto.Message.decode(Buffer.from(message, 'base64')) : undefined
  }

  // Resolves when all changes so far are kept.
  saved() {
    return this.#saving
  }

  // Resolves when nothing more is on its way to the database.
  async settled() {
    do {
      await Promise.allSettled([this.#saving, ...this.#writing])
      await new Promise(setImmediate) // whoever waited for these may write once more
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
