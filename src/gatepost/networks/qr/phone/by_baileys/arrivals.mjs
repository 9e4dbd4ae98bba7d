// Messages of one person in the order in which they came. The library handles them side by side, and looks longer at
// the first of a stranger than at the second, which would overtake it.
const WITHIN = 2000 // for one that the library passes over without opening it

export class Arrivals {
  #last = new Map() // sender → when the last of theirs had its turn
  #places = new WeakMap() // stanza → when its turn is, and how it is told that it was

  add(stanza) {
    const who = stanza.attrs.participant ?? stanza.attrs.from
    const before = this.#last.get(who) ?? Promise.resolve()
    let done
    const had = new Promise((resolve) => (done = resolve))
    const after = before.then(() => had)
    this.#last.set(who, after)
    after.then(() => this.#last.get(who) === after && this.#last.delete(who))
    setTimeout(done, WITHIN).unref()
    this.#places.set(stanza, { before, done })
  }

  /** Begins the work when it is this stanza's turn. */
  async inOrder(stanza, work) {
    const { before, done } = (stanza && this.#places.get(stanza)) ?? {}
    await before
    const doing = work()
    done?.()
    return doing
  }
}
