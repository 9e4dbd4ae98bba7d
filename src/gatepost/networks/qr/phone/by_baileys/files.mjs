// Uploads and downloads files between a local path and the network, which stores them encrypted.
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { downloadContentFromMessage, encryptedStream } from '@whiskeysockets/baileys'
import { logger } from './quiet.mjs'

const NETWORK = '.whatsapp.net'
const base64 = (bytes) => Buffer.from(bytes).toString('base64')

export const upload = async (socket, kind, path) => {
  const sealed = await encryptedStream({ url: path }, kind, { logger })
  try {
    const place = await socket.waUploadToServer(sealed.encFilePath, {
      mediaType: kind,
      fileEncSha256B64: base64(sealed.fileEncSha256),
    })
    return {
      url: place.mediaUrl ?? '',
      direct_path: place.directPath,
      media_key: base64(sealed.mediaKey),
      sha256: base64(sealed.fileSha256),
      encrypted_sha256: base64(sealed.fileEncSha256),
      size: Number(sealed.fileLength),
    }
  } finally {
    await unlink(sealed.encFilePath).catch(() => {})
  }
}

// An error that a retry would not fix.
const unfit = (words) => Object.assign(new Error(words), { refusal: 400, sure: true })

// Limits a download to the length that the message states; a longer file could fill the disk.
const atMost = (most) =>
  async function* (pieces) {
    let length = 0
    for await (const piece of pieces) {
      length += piece.length
      if (length > most) throw unfit(`The file is longer than the ${most} bytes that its message states.`)
      yield piece
    }
  }

// The sender names the host of a file, and the library would request any host. Only hosts of the network are allowed:
// otherwise a sender could learn the address of this machine, and reach hosts that only this machine can reach.
const hostOf = async (socket, url, path) => {
  const named = URL.canParse(url) ? new URL(url).host : null
  if (!path.startsWith('/')) throw unfit('The file has no valid path.')
  if (named?.endsWith(NETWORK)) return named
  const own = (await socket.refreshMediaConn()).hosts.map(({ hostname }) => hostname)
  if (named && !own.includes(named)) throw unfit('The file is on a host that does not belong to the network.')
  return named ?? own[0]
}

export const download = async (socket, kind, { key, direct_path, url, most }, path, options) => {
  const host = await hostOf(socket, url, direct_path)
  const file = { mediaKey: Buffer.from(key, 'base64'), directPath: direct_path }
  const content = await downloadContentFromMessage(file, kind, { options, host })
  await pipeline(content, atMost(most), createWriteStream(path, { mode: 0o600 }))
}
