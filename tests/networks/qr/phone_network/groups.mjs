// A message to a group as phones send it: the group's key, sealed for this device, and the message, sealed with it.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deliveryKey } from './device.mjs'
import { libsignal, proto } from './library.mjs'
import { node, now } from './nodes.mjs'

const library = await import(pathToFileURL(join(process.env.BAILEYS, 'lib/Signal/Group/index.js')))
const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(8, 8)])

const senderKeys = (person) => {
  const held = (person.senderKeys ??= new Map())
  return {
    loadSenderKey: async (name) => held.get(name.toString()) ?? new library.SenderKeyRecord(),
    storeSenderKey: async (name, record) => void held.set(name.toString(), record),
  }
}

const sealed = async (person, device, group, plain) => {
  const name = new library.SenderKeyName(group, new libsignal.ProtocolAddress(person.lid, 0))
  const key = await new library.GroupSessionBuilder(senderKeys(person)).create(name)
  const share = { groupId: group, axolotlSenderKeyDistributionMessage: key.serialize() }
  const shared = proto.Message.encode({ senderKeyDistributionMessage: share }).finish()
  const said = await new library.GroupCipher(senderKeys(person), name).encrypt(padded(plain))
  return [await person.encrypt(device, padded(shared)), node('enc', { v: '2', type: 'skmsg' }, Buffer.from(said))]
}

/** A person writes in a group whose key this device does not have yet. */
export const sayToGroup = (world, { from, id, message, group, account }) => {
  const [person, device] = [world.person(from), world.device(account)]
  const attrs = { from: group, participant: person.jid(), id, t: String(now()), type: 'text', notify: person.name }
  const make = async () =>
    node('message', attrs, await sealed(person, device, group, Buffer.from(message, 'base64')))
  return device.deliver(deliveryKey('message', id), make)
}
