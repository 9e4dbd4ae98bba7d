// Who exists: phones (owners' accounts), people, and the switches that a test turns.
import { randomBytes } from 'node:crypto'
import { Collections } from './collections.mjs'
import { lidJid, phoneJid, readJid } from './nodes.mjs'
import { Party } from './signal.mjs'

/** A hidden id for someone who was given none. */
export const lidFor = (number) => `7${number}`

export class Person extends Party {
  constructor({ phone, lid, name }) {
    super()
    Object.assign(this, { number: phone, lid, name })
  }

  /** This person's address, under the phone number or under the hidden id. */
  jid(addressing = 'lid') {
    return addressing === 'pn' ? phoneJid(this.number) : lidJid(this.lid)
  }
}

export class Phone extends Person {
  constructor({ phone, lid, name, business = false }) {
    super({ phone, lid, name })
    this.business = business
    this.devices = new Map()
    this.lastDevice = 0
    this.stateKey = { id: randomBytes(6), data: randomBytes(32) }
    this.collections = new Collections(this.stateKey)
  }
}

export class World {
  constructor(tell) {
    this.tell = tell
    this.phones = new Map()
    this.people = new Map()
    this.codes = new Map()
    this.orders = new Map()
    this.refused = new Map()
    this.lost = new Map()
    this.history = []
    this.silent = false
    this.refuseConnections = null
    this.dropLogouts = false
    this.seen = []
    this.addressedAs = new Map()
  }

  /** The account that a command means: the named one, or the one scanned last. */
  phone(number = undefined) {
    const phone = number ? this.phones.get(number) : [...this.phones.values()].at(-1)
    if (!phone) throw new Error(number ? `no phone ${number}` : 'no phone has scanned a code yet')
    return phone
  }

  /** The linked device that a command means: the newest of its account. */
  device(number = undefined) {
    const device = [...this.phone(number).devices.values()].at(-1)
    if (!device) throw new Error('no device is linked')
    return device
  }

  person(number) {
    const person = this.people.get(number)
    if (!person) throw new Error(`no person ${number}`)
    return person
  }

  /** A phone or a person by number or by address. */
  find(jid) {
    const { user, server } = jid.includes('@') ? readJid(jid) : { user: jid, server: 's.whatsapp.net' }
    const known = [...this.phones.values(), ...this.people.values()]
    return known.find((one) => (server === 'lid' ? one.lid : one.number) === user)
  }
}
