// How a phone links a device: shows codes on a new connection, signs the device once its code is scanned.
import { randomBytes } from 'node:crypto'
import { Device } from './device.mjs'
import { baileys, Curve, proto } from './library.mjs'
import { bytesOf, child, node, now, SERVER } from './nodes.mjs'
import { lidFor, Phone } from './world.mjs'

const CODES = 6
const ACCOUNT_SIGNATURE = Buffer.from([6, 0])
const DEVICE_SIGNATURE = Buffer.from([6, 1])
const big = (bytes) => Buffer.from(bytes).reduce((sum, byte) => sum * 256 + byte, 0)

/** A connection of a device that is not linked: offers it codes to show. */
export const offerCodes = (world, connection) => {
  const refs = Array.from({ length: CODES }, () => randomBytes(24).toString('base64url'))
  for (const ref of refs) world.codes.set(ref, connection)
  const offered = node('pair-device', {}, refs.map((ref) => node('ref', {}, Buffer.from(ref))))
  connection.send(node('iq', { from: SERVER, type: 'set', id: `pair-${now()}`, xmlns: 'md' }, [offered]))
}

export const withdrawCodes = (world, connection) => {
  for (const [ref, owner] of world.codes) if (owner === connection) world.codes.delete(ref)
}

/** What a shown code says. */
const readCode = (qr) => {
  const [ref, noiseKey, identity, secret] = qr.slice(qr.indexOf('#') + 1).split(',')
  return { ref, noiseKey, identity, secret }
}

const signIdentity = (phone, device, secret) => {
  const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: now(), keyIndex: device.number }).finish()
  const message = Buffer.concat([ACCOUNT_SIGNATURE, details, device.identity])
  const signed = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: phone.identity.public,
    accountSignature: Curve.sign(phone.identity.private, message),
  }).finish()
  const hmac = baileys.hmacSign(signed, secret)
  return proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish()
}

const pairSuccess = (phone, device, secret) =>
  node('iq', { from: SERVER, type: 'set', id: `paired-${now()}`, t: String(now()), xmlns: 'md' }, [
    node('pair-success', {}, [
      node('device-identity', {}, signIdentity(phone, device, secret)),
      ...(phone.business ? [node('biz', { name: phone.name })] : []),
      node('device', { jid: device.jid, lid: device.lid }),
      node('platform', { name: phone.business ? 'smba' : 'android' }),
    ]),
  ])

const deviceFrom = (phone, { payload, noiseKey }) => {
  const { eSkeyId, eSkeyVal, eSkeySig, ...pairing } = payload.devicePairingData
  return new Device(phone, {
    noiseKey,
    identity: Buffer.from(pairing.eIdent),
    registration: big(pairing.eRegid),
    signedKey: { id: big(eSkeyId), value: Buffer.from(eSkeyVal), signature: Buffer.from(eSkeySig) },
  })
}

/** The account of this number: one phone may link several devices. */
export const phoneFor = async (world, { phone: number, lid, name = 'Owner', business }) => {
  if (!world.phones.has(number)) {
    const made = new Phone({ phone: number, lid: lid ?? lidFor(number), name, business })
    await made.collections.change('critical_block', 1, ['setting_pushName'], { pushNameSetting: { name } })
    world.phones.set(number, made)
  }
  const phone = world.phones.get(number)
  world.phones.delete(number)
  return world.phones.set(number, phone).get(number)
}

/** Signs the device on this connection; it must come back with its new identity. */
export const link = async (phone, connection, secret) => {
  const device = deviceFrom(phone, connection)
  const answered = connection.awaitStanza((stanza) => child(stanza, 'pair-device-sign'))
  connection.send(pairSuccess(phone, device, secret))
  const signed = child(await answered, 'pair-device-sign')
  checkDeviceSignature(phone, device, bytesOf(signed, 'device-identity'))
  phone.devices.set(device.number, device)
  connection.send(node('stream:error', { code: '515' }))
  connection.close()
  return device
}

const checkDeviceSignature = (phone, device, bytes) => {
  const { details, deviceSignature } = proto.ADVSignedDeviceIdentity.decode(bytes)
  const message = Buffer.concat([DEVICE_SIGNATURE, details, device.identity, phone.identity.public])
  if (Curve.verify(device.identity, message, deviceSignature)) return
  throw new Error('the device signed its identity wrongly')
}

/** The phone scans what the device shows. */
export const scan = async (world, command) => {
  const code = readCode(command.qr)
  const connection = world.codes.get(code.ref)
  if (!connection) throw new Error('this code is not, or no longer, offered')
  if (connection.noiseKey.toString('base64') !== code.noiseKey) throw new Error('the code shows another noise key')
  const device = await link(await phoneFor(world, command), connection, Buffer.from(code.secret, 'base64'))
  return { device: device.jid, lid: device.lid }
}
