// The answering side of the encrypted channel (Noise XX) and its frames.
//
//   client                         server
//   e            ───────────────►
//                ◄───────────────  e, ee, s, es + certificates
//   s, se + payload ────────────►  then both switch to two counted keys
import { baileys, Curve, proto } from './library.mjs'

const { NOISE_MODE, NOISE_WA_HEADER, sha256, hkdf, aesEncryptGCM, aesDecryptGCM } = baileys
const NOTHING = Buffer.alloc(0)

const counted = (counter) => {
  const iv = Buffer.alloc(12)
  iv.writeUInt32BE(counter, 8)
  return iv
}

/** The long-lived keys of a network: a root that clients trust, and what it has signed. */
export const makeNetworkKeys = () => {
  const [root, middle, server] = [Curve.generateKeyPair(), Curve.generateKeyPair(), Curve.generateKeyPair()]
  const { Details } = proto.CertChain.NoiseCertificate
  const signed = (signer, fields) => {
    const details = Details.encode(fields).finish()
    return { details, signature: Curve.sign(signer.private, details) }
  }
  const chain = proto.CertChain.encode({
    intermediate: signed(root, { serial: 1, issuerSerial: 0, key: middle.public }),
    leaf: signed(middle, { serial: 2, issuerSerial: 1, key: server.public }),
  }).finish()
  return { root, server, chain }
}

class Handshake {
  constructor(clientEphemeral) {
    this.hash = this.salt = this.key = Buffer.from(NOISE_MODE)
    this.counter = 0
    this.authenticate(NOISE_WA_HEADER)
    this.authenticate(clientEphemeral)
  }

  authenticate(data) {
    this.hash = sha256(Buffer.concat([this.hash, data]))
  }

  expand(secret) {
    const keys = Buffer.from(hkdf(Buffer.from(secret), 64, { salt: this.salt, info: '' }))
    return [keys.subarray(0, 32), keys.subarray(32)]
  }

  mix(secret) {
    ;[this.salt, this.key] = this.expand(secret)
    this.counter = 0
  }

  encrypt(plain) {
    const sealed = aesEncryptGCM(plain, this.key, counted(this.counter++), this.hash)
    this.authenticate(sealed)
    return sealed
  }

  decrypt(sealed) {
    const plain = aesDecryptGCM(Buffer.from(sealed), this.key, counted(this.counter++), this.hash)
    this.authenticate(sealed)
    return plain
  }
}

/** Cuts a byte stream into frames, past the header that opens it. */
export class Frames {
  constructor() {
    this.bytes = NOTHING
    this.opened = false
  }

  *take(data) {
    this.bytes = Buffer.concat([this.bytes, data])
    if (!this.opened && this.bytes.length >= NOISE_WA_HEADER.length) {
      this.bytes = this.bytes.subarray(NOISE_WA_HEADER.length)
      this.opened = true
    }
    while (this.opened && this.bytes.length >= 3) {
      const end = 3 + this.bytes.readUIntBE(0, 3)
      if (this.bytes.length < end) return
      const frame = this.bytes.subarray(3, end)
      this.bytes = this.bytes.subarray(end)
      yield frame
    }
  }
}

export const framed = (data) => {
  const head = Buffer.alloc(3)
  head.writeUIntBE(data.length, 0, 3)
  return Buffer.concat([head, data])
}

/** One client's channel: `hello` and `finish` in turn, then `open` and `seal`. */
export class Channel {
  constructor(keys) {
    this.keys = keys
    this.ephemeral = Curve.generateKeyPair()
    this.reads = this.writes = 0
  }

  hello(frame) {
    const { ephemeral } = proto.HandshakeMessage.decode(frame).clientHello
    const { server, chain } = this.keys
    this.handshake = new Handshake(ephemeral)
    this.handshake.authenticate(this.ephemeral.public)
    this.handshake.mix(Curve.sharedKey(this.ephemeral.private, ephemeral))
    const sealedKey = this.handshake.encrypt(server.public)
    this.handshake.mix(Curve.sharedKey(server.private, ephemeral))
    const payload = this.handshake.encrypt(chain)
    const serverHello = { ephemeral: this.ephemeral.public, static: sealedKey, payload }
    return proto.HandshakeMessage.encode({ serverHello }).finish()
  }

  finish(frame) {
    const { clientFinish } = proto.HandshakeMessage.decode(frame)
    const noiseKey = this.handshake.decrypt(clientFinish.static)
    this.handshake.mix(Curve.sharedKey(this.ephemeral.private, noiseKey))
    const payload = proto.ClientPayload.decode(this.handshake.decrypt(clientFinish.payload))
    ;[this.readKey, this.writeKey] = this.handshake.expand(NOTHING)
    return { noiseKey, payload }
  }

  open(frame) {
    return aesDecryptGCM(frame, this.readKey, counted(this.reads++), NOTHING)
  }

  seal(plain) {
    return aesEncryptGCM(plain, this.writeKey, counted(this.writes++), NOTHING)
  }
}
