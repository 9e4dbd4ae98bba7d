// Starts a bridge at the test network: the library's defaults for address and root key are replaced first.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { BAILEYS, NETWORK, BRIDGE } = process.env
const { url, root_key: rootKey, serial } = JSON.parse(NETWORK)
const defaults = await import(pathToFileURL(join(BAILEYS, 'lib/Defaults/index.js')))
Object.assign(defaults.WA_CERT_DETAILS, { PUBLIC_KEY: Buffer.from(rootKey, 'base64'), SERIAL: serial })
defaults.DEFAULT_CONNECTION_CONFIG.waWebSocketUrl = url
await import(pathToFileURL(BRIDGE))
