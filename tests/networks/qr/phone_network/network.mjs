// A small network of phones on 127.0.0.1 that the real library takes for its own: for tests, with no internet.
//
//   stdin: one command a line ──► commands ──► world ◄── connections ◄── the library's sockets
//   stdout: {"ready"}, {"done"|"failed"} for each command, {"saw"} for what devices do; stderr: traces
import { createInterface } from 'node:readline'
import { obey } from './commands.mjs'
import { Connection } from './connection.mjs'
import { WebSocketServer } from './library.mjs'
import { Media } from './media.mjs'
import { makeNetworkKeys } from './noise.mjs'
import { World } from './world.mjs'

const tell = (line) => process.stdout.write(JSON.stringify(line) + '\n')

// Whoever started us may end first; nothing is left to tell then.
process.stdout.on('error', () => process.exit(0))

const listen = async (world, keys) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket) => new Connection(world, socket, keys))
  await new Promise((done) => server.once('listening', done))
  return `ws://127.0.0.1:${server.address().port}/`
}

const keys = makeNetworkKeys()
const world = new World(tell)
world.media = new Media()
await world.media.open()
const url = await listen(world, keys)
tell({ ready: { url, root_key: keys.root.public.toString('base64'), serial: 0 } })

let turn = Promise.resolve()
const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => (turn = turn.then(() => obey(world, line))))
lines.on('close', () => process.exit(0))
