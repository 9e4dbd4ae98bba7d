// Who may work with the sessions of a device at the moment: several who read, or one who writes.
//
//   shared shared │ alone │ shared │ alone      in the order in which they came
//
// The library reads a session, works, and writes it back at the end. What was encrypted for a person while something
// of theirs is being decrypted would be written over by the other, and the next message could not be read.

export class Turns {
  #last = Promise.resolve() // whoever wanted to be alone last
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
