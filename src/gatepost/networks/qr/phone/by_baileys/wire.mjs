// The connection to the parent process: one JSON value per line, requests in both directions.
//
//   ◄─ {n, op, …}   ─► {re: n, ok} | {re: n, error}      requests of the parent
//   ─► {q, ask, …}  ◄─ {a: q, ok} | {a: q, error}        our requests: keys, and to store a message
//   ─► {update, …}                                         events
import net from 'node:net'

export class Wire {
  #socket
  #rest = ''
  #asked = new Map()
  #number = 0

  constructor(fd, answer) {
    this.#socket = new net.Socket({ fd, readable: true, writable: true })
    this.#socket.setEncoding('utf8')
    this.#socket.on('data', (text) => this.#feed(text, answer))
    this.#socket.on('error', () => process.exit(0))
    this.#socket.on('close', () => process.exit(0)) // the parent process has ended
  }

  emit(update, life, fields = {}) {
    this.#write({ update, life, ...fields })
  }

  ask(ask, life, fields = {}) {
    const q = ++this.#number
    this.#write({ q, ask, life, ...fields })
    return new Promise((resolve, reject) => this.#asked.set(q, { life, resolve, reject }))
  }

  // Fails all open requests of a link that has ended: they would block queues of the library that the next link uses.
  drop(life) {
    for (const [q, asked] of this.#asked) if (asked.life === life) this.#settle({ a: q, error: 'The link is closed.' })
  }

  #feed(text, answer) {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()
    for (const line of lines) {
      const frame = JSON.parse(line)
      if (frame.a === undefined) this.#answer(frame, answer)
      else this.#settle(frame)
    }
  }

  #settle({ a, ok, error }) {
    const { resolve, reject } = this.#asked.get(a) ?? {}
    this.#asked.delete(a)
    if (error !== undefined) reject?.(new Error(error))
    else resolve?.(ok)
  }

  async #answer(frame, answer) {
    try {
      this.#write({ re: frame.n, ok: (await answer(frame)) ?? null })
    } catch (error) {
      this.#write({ re: frame.n, error: problem(error) })
    }
  }

  #write(value) {
    if (!this.#socket.destroyed) this.#socket.write(JSON.stringify(value) + '\n')
  }
}

// `code` is the network's error code; `sure` means that the message was certainly not sent.
const problem = (error) => ({
  text: String(error?.message ?? error).slice(0, 500),
  code: error?.refusal ?? null,
  sure: error?.sure ?? null,
})
