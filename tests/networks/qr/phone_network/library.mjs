// The library under test, found by BAILEYS: its own primitives spare us a second implementation of them.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = process.env.BAILEYS
if (!folder) throw new Error('BAILEYS must name the folder of the package @whiskeysockets/baileys')

export const baileys = await import(pathToFileURL(join(folder, 'lib/index.js')))
const require = createRequire(join(folder, 'package.json'))
export const libsignal = require('libsignal')
export const { WebSocketServer } = require('ws')
export const { proto, Curve } = baileys

// The library logs through an object like this one; we have nothing to hear from it.
export const silent = { level: 'silent', child: () => silent }
for (const level of ['trace', 'debug', 'info', 'warn', 'error']) silent[level] = () => {}

// libsignal tells the console, and so stdout, of every closed session; our stdout carries only answers.
for (const level of ['log', 'info', 'warn']) console[level] = () => {}
