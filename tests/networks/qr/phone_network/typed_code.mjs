// Linking by a code that the owner types on the phone instead of scanning.
//
//   device: hello (its key, wrapped with the code) ──► phone: own key, wrapped with the same code
//   device: finish (sealed bundle)                 ──► both know the secret; linking goes on as after a scan
import { randomBytes } from 'node:crypto'
import { baileys, Curve } from './library.mjs'
import { link, phoneFor } from './linking.mjs'
import { bytesOf, node, now, result, SERVER } from './nodes.mjs'

const { aesDecryptCTR, aesEncryptCTR, aesDecryptGCM, derivePairingCodeKey, hkdf } = baileys

/** The device announces itself and shows its code to the owner. */
export const takePairingHello = (world, connection, query, hello) => {
  const wrapped = bytesOf(hello, 'link_code_pairing_wrapped_companion_ephemeral_pub')
  connection.typed = { wrapped, ref: randomBytes(16) }
  world.awaitsCode = connection
  world.tell({ saw: 'pair_code', jid: hello.attrs.jid })
  const ref = node('link_code_pairing_ref', {}, connection.typed.ref)
  return result(query, [node('link_code_companion_reg', { stage: 'companion_hello' }, [ref])])
}

export const takePairingFinish = (connection, query, finish) => {
  connection.typed.finished?.(finish)
  return result(query)
}

const unwrap = async (code, wrapped) => {
  const key = await derivePairingCodeKey(code, wrapped.subarray(0, 32))
  return aesDecryptCTR(wrapped.subarray(48), key, wrapped.subarray(32, 48))
}

const wrap = async (code, plain) => {
  const [salt, iv] = [randomBytes(32), randomBytes(16)]
  const key = await derivePairingCodeKey(code, salt)
  return Buffer.concat([salt, iv, aesEncryptCTR(plain, key, iv)])
}

const registration = (phone, typed, wrappedKey) =>
  node('notification', { from: SERVER, type: 'link_code_companion_reg', id: `code-${now()}`, t: String(now()) }, [
    node('link_code_companion_reg', { stage: 'primary_hello' }, [
      node('link_code_pairing_ref', {}, typed.ref),
      node('primary_identity_pub', {}, phone.identity.public),
      node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, wrappedKey),
    ]),
  ])

const secretFrom = (phone, shared, finish) => {
  const bundle = bytesOf(finish, 'link_code_pairing_wrapped_key_bundle')
  const key = hkdf(shared, 32, { salt: bundle.subarray(0, 32), info: 'link_code_pairing_key_bundle_encryption_key' })
  const opened = aesDecryptGCM(bundle.subarray(44), Buffer.from(key), bundle.subarray(32, 44), Buffer.alloc(0))
  const identity = Curve.sharedKey(phone.identity.private, opened.subarray(0, 32))
  return Buffer.from(hkdf(Buffer.concat([shared, identity, opened.subarray(64)]), 32, { info: 'adv_secret' }))
}

/** The owner types the code that the device shows. */
export const typeCode = async (world, command) => {
  const connection = world.awaitsCode
  if (!connection?.typed) throw new Error('no device waits for a typed code')
  const phone = await phoneFor(world, command)
  const ephemeral = Curve.generateKeyPair()
  const theirs = await unwrap(command.code, connection.typed.wrapped)
  const finished = new Promise((resolve) => (connection.typed.finished = resolve))
  connection.send(registration(phone, connection.typed, await wrap(command.code, ephemeral.public)))
  const secret = secretFrom(phone, Curve.sharedKey(ephemeral.private, theirs), await finished)
  const device = await link(phone, connection, secret)
  return { device: device.jid, lid: device.lid }
}
