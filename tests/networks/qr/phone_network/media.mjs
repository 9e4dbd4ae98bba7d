// Files: taken over https, kept in memory, handed out to whoever knows the path and its token.
import { createHmac, createCipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { baileys } from './library.mjs'

const { getMediaKeys, aesDecryptWithIV, sha256 } = baileys
const NO_HOST = '127.0.0.1:9'
const MAC = 10

export class Media {
  constructor() {
    this.files = new Map()
    this.auth = randomBytes(12).toString('base64url')
    this.host = NO_HOST
  }

  /** Listens where the test gave a certificate; without one, uploads find nobody. */
  async open() {
    const { TLS_KEY, TLS_CERT } = process.env
    if (!TLS_KEY || !TLS_CERT) return
    const tls = { key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) }
    const server = createServer(tls, (request, response) => this.serve(request, response))
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    this.host = `127.0.0.1:${server.address().port}`
  }

  async serve(request, response) {
    const url = new URL(request.url, 'https://localhost')
    if (request.method === 'POST') return this.take(request, response, url)
    const file = this.files.get(url.pathname)
    if (!file || file.token !== url.searchParams.get('token')) return response.writeHead(404).end()
    return sendPart(response, file.bytes, request.headers.range)
  }

  async take(request, response, url) {
    const parts = []
    for await (const part of request) parts.push(part)
    if (url.searchParams.get('auth') !== this.auth) return response.writeHead(401).end()
    const kept = this.keep(Buffer.concat(parts))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(kept))
  }

  keep(bytes) {
    const path = `/kept/${randomBytes(9).toString('base64url')}`
    const token = randomBytes(9).toString('base64url')
    this.files.set(path, { bytes, token })
    const direct_path = `${path}?token=${token}`
    return { url: `https://${this.host}${direct_path}`, direct_path }
  }

  /** A person uploads a file: the fields of the message that will carry it. */
  async upload(bytes, kind) {
    const mediaKey = randomBytes(32)
    const { iv, cipherKey, macKey } = await getMediaKeys(mediaKey, kind)
    const cipher = createCipheriv('aes-256-cbc', cipherKey, iv)
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
    const mac = createHmac('sha256', macKey).update(iv).update(sealed).digest().subarray(0, MAC)
    const whole = Buffer.concat([sealed, mac])
    const { url, direct_path } = this.keep(whole)
    const hashes = { fileSha256: sha256(bytes).toString('base64'), fileEncSha256: sha256(whole).toString('base64') }
    return { url, directPath: direct_path, mediaKey: mediaKey.toString('base64'), fileLength: bytes.length, ...hashes }
  }

  /** A person opens a file that the owner sent. */
  async download(directPath, mediaKey, kind) {
    const file = this.files.get(directPath.split('?')[0])
    if (!file) throw new Error(`no file ${directPath}`)
    const { iv, cipherKey } = await getMediaKeys(mediaKey, kind)
    return aesDecryptWithIV(file.bytes.subarray(0, -MAC), cipherKey, iv)
  }
}

const sendPart = (response, bytes, range) => {
  const asked = /^bytes=(\d+)-(\d*)$/.exec(range ?? '')
  if (!asked) return response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
  const part = bytes.subarray(Number(asked[1]), asked[2] ? Number(asked[2]) + 1 : undefined)
  return response.writeHead(206, { 'content-length': part.length }).end(part)
}
