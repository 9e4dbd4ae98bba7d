// A read-write lock for the sessions of a device: decryption is shared, encryption is exclusive.
//
//   shared shared │ alone │ shared │ alone      in order of arrival
//
// The library reads a session, works, and writes it back at the end. If a message to a person were encrypted while one
// from them is being decrypted, one write would overwrite the other, and the next message could not be decrypted.

export class Turns {
  #last = Promise.resolve() // the last exclusive work
  #sharing = new Set()

  shared(work) {
    const done = this.#last.then(work)
    const over = done.catch(() => {}).then(() => this.#sharing.delete(over))
    this.#sharing.add(over)
    return done
  }

  alone(work) {
    const done = Promise.all([this.#last, ...this.#sharing]).then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
