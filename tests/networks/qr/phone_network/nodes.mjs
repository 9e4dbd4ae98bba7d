// Stanzas and addresses: how they are built and read.
import { baileys } from './library.mjs'

export const SERVER = '@s.whatsapp.net'

/** One stanza or a part of one. */
export const node = (tag, attrs = {}, content = undefined) => ({ tag, attrs, content })

/** The children of a stanza, with this tag where one is given. */
export const children = (parent, tag) => {
  const all = Array.isArray(parent?.content) ? parent.content : []
  return tag ? all.filter((child) => child.tag === tag) : all
}

export const child = (parent, tag) => children(parent, tag)[0]

/** The bytes that a child carries. */
export const bytesOf = (parent, tag) => {
  const content = child(parent, tag)?.content
  return content === undefined ? undefined : Buffer.from(content)
}

/** A big-endian number that a child carries. */
export const numberOf = (parent, tag) => bytesOf(parent, tag)?.reduce((sum, byte) => sum * 256 + byte, 0)

/** The answer to a query. */
export const result = (query, content = undefined) =>
  node('iq', { id: query.attrs.id, type: 'result', from: SERVER }, content)

/** The answer to a query that is refused. */
export const refusal = (query, code, text) =>
  node('iq', { id: query.attrs.id, type: 'error', from: SERVER }, [node('error', { code: String(code), text })])

export const phoneJid = (phone, device = 0) => baileys.jidEncode(phone, 's.whatsapp.net', device)
export const lidJid = (lid, device = 0) => baileys.jidEncode(lid, 'lid', device)

/** User, server and device number of an address. */
export const readJid = (jid) => {
  const { user, server, device = 0 } = baileys.jidDecode(jid) ?? {}
  return { user, server, device }
}

export const now = () => Math.floor(Date.now() / 1000)
export const numbered = (value, length) => Buffer.from(baileys.encodeBigEndian(value, length))
