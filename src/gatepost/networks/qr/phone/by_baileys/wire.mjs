// The line to the process above: one JSON value per line, requests in both directions.
//
//   ◄─ {n, op, …}   ─► {re: n, ok} | {re: n, error}      what it asks of us
//   ─► {q, ask, …}  ◄─ {a: q, ok} | {a: q, error}        what we ask of it: keys, and "is this message safe with you?"
//   ─► {news, …}                                         what merely happened
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
    this.#socket.on('close', () => process.exit(0)) // nobody is there to work for
  }

  tell(news, life, fields = {}) {
    this.#write({ news, life, ...fields })
  }

  ask(ask, life, fields = {}) {
    const q = ++this.#number
    this.#write({ q, ask, life, ...fields })
    return new Promise((resolve, reject) => this.#asked.set(q, { life, resolve, reject }))
  }

  // Nothing that a link asked may stay open after its end: the library has queues that the next link waits in, too.
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

// `code` is the network's own number for a refusal; `sure` tells that nothing has left this machine.
const problem = (error) => ({
  text: String(error?.message ?? error).slice(0, 500),
  code: error?.refusal ?? null,
  sure: error?.sure ?? null,
})
