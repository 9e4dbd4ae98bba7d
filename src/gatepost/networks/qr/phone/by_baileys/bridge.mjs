// Holds linked phones for the parent process, over the socket whose descriptor is the last argument.
import { logger } from './quiet.mjs'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { ProxyAgent } from 'undici'
import { Link } from './link.mjs'
import { Wire } from './wire.mjs'

// First, because an invalid proxy address would otherwise be printed with its password. An exception that nothing
// catches ends the process, so that no link appears connected that is not.
process.on('uncaughtException', (error) => (logger.error(error, 'ends'), process.exit(1)))
process.on('unhandledRejection', (error) => logger.warn({ err: error }, 'passed over'))

const links = new Map()
const address = process.env.HTTPS_PROXY || process.env.https_proxy
const proxy = address
  ? {
      agent: new HttpsProxyAgent(address),
      fetchAgent: new HttpsProxyAgent(address),
      options: { dispatcher: new ProxyAgent(address) },
    }
  : { options: {} }

const open = ({ life, creds }) => {
  links.set(life, new Link(wire, life, creds, proxy))
}

const close = async ({ life }) => {
  await links.get(life)?.close()
  links.delete(life)
}

const answer = (frame) => {
  if (frame.op === 'ping') return null
  if (frame.op === 'open') return open(frame)
  if (frame.op === 'close') return close(frame)
  const link = links.get(frame.life)
  if (!link) throw Object.assign(new Error('The link is not open.'), { sure: true })
  return link[frame.op](frame)
}

const wire = new Wire(Number(process.argv.at(-1)), answer)
