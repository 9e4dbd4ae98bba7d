// The ways in which the network ends a connection.
import { node } from './nodes.mjs'

/** No entry, for this reason. */
export const refuse = (connection, reason) => {
  connection.send(node('failure', { reason: String(reason), location: 'test' }))
  connection.close()
}

const endStream = (connection, attrs, conflict) => {
  connection.send(node('stream:error', attrs, [node('conflict', { type: conflict })]))
  connection.close()
}

/** Another connection of the same device takes over. */
export const replace = (connection) => endStream(connection, {}, 'replaced')

/** The owner removed this device on the phone. */
export const logOut = (device) => {
  device.phone.devices.delete(device.number)
  if (device.connection) endStream(device.connection, { code: '401' }, 'device_removed')
}

/** The network closed the owner's account. */
export const ban = (phone) => {
  phone.banned = true
  for (const { connection } of phone.devices.values()) if (connection) refuse(connection, 403)
}
