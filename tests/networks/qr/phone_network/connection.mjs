// One socket of a device: handshake, then login or linking, then stanzas one after the other.
import { baileys } from './library.mjs'
import { node, now } from './nodes.mjs'
import { Channel, framed, Frames } from './noise.mjs'
import { refuse, replace } from './endings.mjs'
import { offerCodes, withdrawCodes } from './linking.mjs'
import { takeStanza } from './stanzas.mjs'

export class Connection {
  constructor(world, socket, keys) {
    Object.assign(this, { world, socket, device: null, waiting: new Set() })
    this.channel = new Channel(keys)
    this.frames = new Frames()
    this.turn = Promise.resolve()
    this.step = this.takeHello
    socket.on('message', (data) => this.takeData(data))
    socket.on('close', () => this.closed())
    socket.on('error', () => {})
  }

  takeData(data) {
    try {
      for (const frame of this.frames.take(data)) this.step(frame)
    } catch (error) {
      console.error('cannot read a frame', error)
      this.socket.terminate()
    }
  }

  takeHello(frame) {
    this.socket.send(framed(Buffer.from(this.channel.hello(frame))))
    this.step = this.takeFinish
  }

  takeFinish(frame) {
    const { noiseKey, payload } = this.channel.finish(frame)
    Object.assign(this, { noiseKey, payload, step: this.takeSealed })
    enter(this)
  }

  takeSealed(frame) {
    const plain = this.channel.open(frame)
    this.turn = this.turn.then(async () => this.take(await baileys.decodeBinaryNode(plain)))
    this.turn = this.turn.catch((error) => console.error('cannot handle a stanza', error))
  }

  async take(stanza) {
    for (const one of this.waiting) if (one.matches(stanza)) return one.resolve(stanza)
    return takeStanza(this.world, this, stanza)
  }

  /** The next stanza of this kind, taken out of the usual handling. */
  awaitStanza(matches) {
    return new Promise((resolve, reject) => {
      const one = { matches, reject }
      one.resolve = (stanza) => this.waiting.delete(one) && resolve(stanza)
      this.waiting.add(one)
    })
  }

  send(stanza) {
    if (this.socket.readyState !== 1) return
    this.socket.send(framed(this.channel.seal(baileys.encodeBinaryNode(stanza))))
  }

  close() {
    this.socket.close()
  }

  /** As a cable that is pulled: no goodbye. */
  cut() {
    this.socket.terminate()
  }

  closed() {
    for (const one of this.waiting) one.reject(new Error('the device went away'))
    withdrawCodes(this.world, this)
    if (!this.device) return
    this.device.disconnected(this)
    this.world.tell({ saw: 'gone', device: this.device.jid })
  }
}

const enter = (connection) => {
  const { world, payload } = connection
  if (world.refuseConnections) return refuse(connection, world.refuseConnections)
  if (payload.devicePairingData) return offerCodes(world, connection)
  return logIn(world, connection)
}

const knownDevice = (world, { payload, noiseKey }) => {
  const phone = world.phones.get(String(payload.username))
  const device = phone?.devices.get(payload.device)
  return device?.noiseKey.equals(noiseKey) ? device : null
}

const logIn = (world, connection) => {
  const device = knownDevice(world, connection)
  if (!device) return refuse(connection, 401)
  if (device.phone.banned) return refuse(connection, 403)
  if (device.connection) replace(device.connection)
  device.connection = connection
  connection.device = device
  connection.send(node('success', { t: String(now()), lid: device.lid, location: 'test' }))
  world.tell({ saw: 'connected', device: device.jid, lid: device.lid })
}
