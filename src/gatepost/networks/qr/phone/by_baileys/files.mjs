// Files between a path of this machine and the network, encrypted on the way.
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { downloadContentFromMessage, encryptedStream } from '@whiskeysockets/baileys'
import { logger } from './quiet.mjs'

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

export const download = async (kind, { key, direct_path, url }, path, options) => {
  const file = { mediaKey: Buffer.from(key, 'base64'), directPath: direct_path, url }
  await pipeline(await downloadContentFromMessage(file, kind, { options }), createWriteStream(path, { mode: 0o600 }))
}
