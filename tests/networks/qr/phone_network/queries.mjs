// Answers to a device's queries, by namespace. What we do not know gets an empty result, so that nothing hangs.
import { logOut } from './endings.mjs'
import { takePairingHello, takePairingFinish } from './typed_code.mjs'
import { bytesOf, child, children, node, numbered, phoneJid, readJid, refusal, result } from './nodes.mjs'
import { readSignedKey } from './signal.mjs'
import { answerStateSync } from './state_sync.mjs'
import { welcome } from './saying.mjs'

/** The answer to one query, or nothing where the asker waits for none. */
export const answerQuery = (world, connection, query) => {
  const answer = NAMESPACES[query.attrs.xmlns]
  if (answer) return answer(world, connection, query)
  console.error('an empty result for', query.attrs.xmlns)
  return result(query)
}

const answerEncrypt = (world, { device }, query) => {
  const wanted = children(child(query, 'key'), 'user')
  if (wanted.length) return result(query, [node('list', {}, wanted.map(bundleFor(world)))])
  if (child(query, 'count')) return result(query, [node('count', { value: String(device.oneTimeKeys.length) })])
  if (child(query, 'digest')) return result(query, [digestOf(device)])
  if (child(query, 'rotate')) device.signedKey = readSignedKey(child(query, 'rotate'))
  else device.storeKeys(query)
  return result(query)
}

const digestOf = ({ registration }) => node('digest', {}, [node('registration', {}, numbered(registration))])

const bundleFor = (world) => ({ attrs: { jid } }) => {
  const owner = world.find(jid)
  const { device } = readJid(jid)
  if (owner && device === 0) return owner.bundle(jid)
  const linked = owner?.devices?.get(device)
  return linked?.bundle(jid) ?? node('user', { jid }, [node('error', { code: '404', text: 'item-not-found' })])
}

const answerUsync = (world, connection, query) => {
  const usync = child(query, 'usync')
  const wanted = children(child(usync, 'query')).map(({ tag }) => tag)
  const users = children(child(usync, 'list'), 'user').map((user) => describe(world, user, wanted))
  const answer = [node('result', {}, wanted.map((tag) => node(tag))), node('list', {}, users)]
  return result(query, [node('usync', usync.attrs, answer)])
}

const askedJid = (user) => user.attrs.jid ?? phoneJid(bytesOf(user, 'contact').toString().replace('+', ''))

const describe = (world, user, wanted) => {
  const jid = askedJid(user)
  const known = world.find(jid)
  const tell = {
    contact: () => node('contact', { type: known ? 'in' : 'out' }),
    devices: () => node('devices', {}, [node('device-list', {}, known ? devicesOf(known) : [])]),
    lid: () => known && readJid(jid).server !== 'lid' && node('lid', { val: known.jid('lid') }),
    status: () => node('status', { t: '0' }, Buffer.from('')),
  }
  return node('user', { jid }, wanted.map((tag) => tell[tag]?.()).filter(Boolean))
}

const devicesOf = (known) => {
  const linked = [...(known.devices?.keys() ?? [])].map(String)
  return [node('device', { id: '0' }), ...linked.map((id) => node('device', { id, 'key-index': id }))]
}

// The first thing after a login: only now does the device want what waited for it.
const answerPassive = async (world, connection, query) => {
  connection.send(result(query))
  if (!child(query, 'active')) return
  const { device } = connection
  await device.goOnline(connection)
  if (!device.hasHistory) await welcome(world, device)
}

const answerPrivacy = (world, connection, query) => {
  if (query.attrs.type === 'set') return result(query, [node('tokens')])
  const all = ['readreceipts', 'profile', 'status', 'online', 'last', 'groupadd', 'calladd']
  const settings = all.map((name) => node('category', { name, value: 'all' }))
  return result(query, [node('privacy', {}, settings)])
}

const answerMedia = (world, connection, query) => {
  const { host: hostname, auth } = world.media
  const host = node('host', { hostname, maxContentLengthBytes: '104857600' })
  return result(query, [node('media_conn', { auth, ttl: '300', auth_ttl: '300', max_buckets: '12' }, [host])])
}

const textNode = (tag, value) => node(tag, {}, Buffer.from(String(value)))

const MEX = { xwa2_fetch_account_reachout_timelock: { is_active: false }, xwa2_message_capping_info: {} }
const answerMex = (world, connection, query) => result(query, [textNode('result', JSON.stringify({ data: MEX }))])

const productNode = ({ id, name, price, currency, quantity, image }) =>
  node('product', {}, [
    ...Object.entries({ id, name, price, currency, quantity }).map(([tag, value]) => textNode(tag, value)),
    node('image', {}, [textNode('url', image ?? '')]),
  ])

const answerThrift = (world, connection, query) => {
  const asked = child(query, 'order')
  if (!asked) return result(query)
  const order = world.orders.get(asked.attrs.id)
  if (!order || order.token !== bytesOf(asked, 'token')?.toString()) return refusal(query, 404, 'item-not-found')
  const price = node('price', {}, [textNode('total', order.total), textNode('currency', order.currency)])
  return result(query, [node('order', { id: order.id }, [...order.products.map(productNode), price])])
}

const answerDevices = (world, connection, query) => {
  const typed = child(query, 'link_code_companion_reg')
  if (typed?.attrs.stage === 'companion_hello') return takePairingHello(world, connection, query, typed)
  if (typed?.attrs.stage === 'companion_finish') return takePairingFinish(connection, query, typed)
  if (!child(query, 'remove-companion-device')) return result(query)
  if (world.dropLogouts) return connection.cut()
  connection.send(result(query))
  world.tell({ saw: 'logged_out_by_device', device: connection.device.jid })
  logOut(connection.device)
}

const answerBlocklist = (world, connection, query) => result(query, [node('list')])
const answerEmpty = (world, connection, query) => result(query)

const NAMESPACES = {
  encrypt: answerEncrypt,
  usync: answerUsync,
  passive: answerPassive,
  privacy: answerPrivacy,
  blocklist: answerBlocklist,
  abt: (world, connection, query) => result(query, [node('props')]),
  md: answerDevices,
  'w:m': answerMedia,
  'w:mex': answerMex,
  'w:p': answerEmpty,
  'w:stats': answerEmpty,
  'w:sync:app:state': answerStateSync,
  'fb:thrift_iq': answerThrift,
  'urn:xmpp:whatsapp:dirty': answerEmpty,
}
