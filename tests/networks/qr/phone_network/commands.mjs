// What a test may order; each returns the fields of its answer.
//
// Everywhere optional: "account" (the phone whose linked device is meant; else the one scanned last) and, where
// someone is addressed, "addressing" ("lid", the default, or "pn").
import { ban, logOut, replace } from './endings.mjs'
import { sayToGroup } from './groups.mjs'
import { scan } from './linking.mjs'
import { call, receipt, say, sayAsOwner, tellNames, typing } from './saying.mjs'
import { askAgain } from './stanzas.mjs'
import { assignLabel, changeLabel, nameContact } from './state_sync.mjs'
import { typeCode } from './typed_code.mjs'
import { lidFor, Person } from './world.mjs'

const addPerson = (world, { phone, lid = lidFor(phone), name = phone }) => {
  const known = world.people.get(phone)
  if (known) Object.assign(known, { name })
  else world.people.set(phone, new Person({ phone, lid, name }))
}

// With `times`, so many messages are refused and the next one is taken.
const refuse = (world, { phone, code, times = Infinity }) => {
  if (code === null) world.refused.delete(phone)
  else world.refused.set(phone, { code, times })
}

// The same person under another number; the hidden id stays.
const move = (world, { phone, to }) => {
  const person = world.person(phone)
  world.people.delete(phone)
  world.people.set(to, Object.assign(person, { number: to }))
}

const addOrder = (world, { id, token, items = [], total, currency = 'USD' }) => {
  const products = items.map((item) => ({ currency, quantity: 1, ...item }))
  world.orders.set(id, { id, token, products, total, currency })
}

// Before the first login it waits for the welcome; later the names go out at once.
const tellHistory = async (world, { contacts, account }) => {
  const phone = [...world.phones.values()].find(({ number }) => !account || number === account)
  const linked = [...(phone?.devices.values() ?? [])].filter(({ hasHistory }) => hasHistory)
  const known = contacts.map(({ phone: number, lid = lidFor(number), name }) => ({ phone: number, lid, name }))
  if (linked.length === 0) world.history.push(...known)
  for (const device of linked) await tellNames(device, known)
}

// Somebody could not read a message, and asks for it once more.
const againFrom = (world, person, id, account) =>
  askAgain(world.device(account), { id, to: person.jid(world.addressedAs.get(id)) }, person)

const connectionOf = (world, account) => {
  const { connection } = world.device(account)
  if (!connection) throw new Error('the device is not connected')
  return connection
}

const upload = (world, { bytes, kind }) => world.media.upload(Buffer.from(bytes, 'base64'), kind)

const download = async (world, { direct_path, media_key, kind }) => {
  const bytes = await world.media.download(direct_path, media_key, kind)
  return { bytes: bytes.toString('base64') }
}

const deviceState = ({ jid, connection, unconfirmed }) => ({
  jid,
  connected: Boolean(connection),
  unconfirmed: unconfirmed.size,
})

const state = (world) => {
  const devices = [...world.phones.values()].flatMap((phone) => [...phone.devices.values()])
  const last = devices.at(-1)
  return {
    connected: Boolean(last?.connection),
    device: last?.jid ?? null,
    messages: world.seen,
    devices: devices.map(deviceState),
  }
}

const COMMANDS = {
  scan,
  type_code: typeCode,
  person: addPerson,
  say,
  say_as_owner: sayAsOwner,
  say_to_group: sayToGroup,
  typing,
  receipt,
  ask_again: (world, { from, id, account }) => againFrom(world, world.person(from), id, account),
  label: changeLabel,
  assign: assignLabel,
  contact: nameContact,
  move,
  refuse,
  lose: (world, { phone, nth = 1 }) => void world.lost.set(phone, nth),
  silence: (world, { on = true }) => void (world.silent = on),
  drop: (world, { account }) => connectionOf(world, account).cut(),
  drop_logouts: (world, { on = true }) => void (world.dropLogouts = on),
  log_out: (world, { account }) => logOut(world.device(account)),
  replace: (world, { account }) => replace(connectionOf(world, account)),
  ban: (world, { account }) => ban(world.phone(account)),
  refuse_connections: (world, { code }) => void (world.refuseConnections = code),
  call: (world, command) => call(world, 'offer', command),
  hang_up: (world, command) => call(world, 'terminate', command),
  order: addOrder,
  history: tellHistory,
  upload,
  download,
  state,
}

/** Does what one line orders and tells how it went. */
export const obey = async (world, line) => {
  let command = {}
  try {
    command = JSON.parse(line)
    const act = COMMANDS[command.do]
    if (!act) throw new Error(`no command ${command.do}`)
    world.tell({ done: command.n, ...(await act(world, command)) })
  } catch (error) {
    console.error(error)
    world.tell({ failed: command.n, why: error.message })
  }
}
