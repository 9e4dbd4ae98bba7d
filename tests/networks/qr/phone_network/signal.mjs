// Someone with a Signal identity of their own: encrypts for linked devices and reads what they send.
import { baileys, Curve, libsignal } from './library.mjs'
import { bytesOf, child, node, numberOf, numbered } from './nodes.mjs'

const { generateSignalPubKey, signedKeyPair, generateRegistrationId } = baileys
const KEY_TYPE = Buffer.from([5])

const addressOf = (device) => new libsignal.ProtocolAddress(device.phone.number, device.number)
const asPair = (pair) => ({ privKey: pair.private, pubKey: generateSignalPubKey(pair.public) })

export class Party {
  constructor() {
    this.identity = Curve.generateKeyPair()
    this.registration = generateRegistrationId()
    this.signedKey = signedKeyPair(this.identity, 1)
    this.oneTimeKeys = new Map()
    this.sessions = new Map()
    this.lastKey = 0
  }

  /** What libsignal asks of a store. */
  get store() {
    return {
      loadSession: async (id) => this.sessions.get(id),
      storeSession: async (id, record) => void this.sessions.set(id, record),
      isTrustedIdentity: async () => true,
      loadPreKey: async (id) => this.oneTimeKeys.get(id),
      removePreKey: async (id) => void this.oneTimeKeys.delete(id),
      loadSignedPreKey: async () => asPair(this.signedKey.keyPair),
      getOurRegistrationId: async () => this.registration,
      getOurIdentity: async () => asPair(this.identity),
    }
  }

  /** A fresh bundle of keys for whoever wants to write to this party. */
  bundle(jid) {
    const id = ++this.lastKey
    const pair = Curve.generateKeyPair()
    this.oneTimeKeys.set(id, asPair(pair))
    return bundleNode(jid, {
      registration: this.registration,
      identity: this.identity.public,
      signedKey: { id: 1, value: this.signedKey.keyPair.public, signature: this.signedKey.signature },
      oneTimeKey: { id, value: pair.public },
    })
  }

  /** Encrypts for a linked device; the first message opens the session with the device's uploaded keys. */
  async encrypt(device, plain) {
    const address = addressOf(device)
    const cipher = new libsignal.SessionCipher(this.store, address)
    if (!(await cipher.hasOpenSession())) {
      await new libsignal.SessionBuilder(this.store, address).initOutgoing(device.takeBundle())
    }
    const { type, body } = await cipher.encrypt(Buffer.from(plain))
    return node('enc', { v: '2', type: type === 3 ? 'pkmsg' : 'msg' }, Buffer.from(body, 'binary'))
  }

  async decrypt(device, { attrs, content }) {
    const cipher = new libsignal.SessionCipher(this.store, addressOf(device))
    const sealed = Buffer.from(content)
    if (attrs.type === 'pkmsg') return cipher.decryptPreKeyWhisperMessage(sealed)
    return cipher.decryptWhisperMessage(sealed)
  }

  /** The device could not read us: the next message opens a new session. */
  forget(device) {
    this.sessions.delete(addressOf(device).toString())
  }
}

const keyNode = (tag, key) =>
  node(tag, {}, [
    node('id', {}, numbered(key.id, 3)),
    node('value', {}, key.value),
    ...(key.signature ? [node('signature', {}, Buffer.from(key.signature))] : []),
  ])

/** Public keys as the answer to a key query has them. */
export const bundleNode = (jid, { registration, identity, signedKey, oneTimeKey }) =>
  node('user', { jid }, [
    node('registration', {}, numbered(registration)),
    node('type', {}, KEY_TYPE),
    node('identity', {}, identity),
    keyNode('skey', signedKey),
    ...(oneTimeKey ? [keyNode('key', oneTimeKey)] : []),
  ])

/** One public key, signed or not, out of an upload. */
export const readKey = (parent) =>
  parent && { id: numberOf(parent, 'id'), value: bytesOf(parent, 'value'), signature: bytesOf(parent, 'signature') }

/** The signed key of an upload or of a rotation. */
export const readSignedKey = (parent) => readKey(child(parent, 'skey'))

/** Keys in the shape that libsignal opens a session with. */
export const asBundle = ({ registration, identity, signedKey, oneTimeKey }) => ({
  registrationId: registration,
  identityKey: generateSignalPubKey(identity),
  signedPreKey: asBundleKey(signedKey),
  preKey: oneTimeKey && asBundleKey(oneTimeKey),
})

const asBundleKey = ({ id, value, signature }) => ({ keyId: id, publicKey: generateSignalPubKey(value), signature })
