// Synced state of a phone (labels, contacts, names): numbered patches per collection, encrypted with a shared key.
import { baileys, proto, silent } from './library.mjs'

const { encodeSyncdPatch, decodePatches, newLTHashState } = baileys
const { SET } = proto.SyncdMutation.SyncdOperation

export class Collections {
  constructor(key) {
    this.keyId = key.id.toString('base64')
    this.keyOf = async (id) => (id === this.keyId ? { keyData: key.data } : undefined)
    this.byName = new Map()
  }

  collection(name) {
    if (!this.byName.has(name)) this.byName.set(name, { state: newLTHashState(), patches: [] })
    return this.byName.get(name)
  }

  version(name) {
    return this.collection(name).state.version
  }

  /** A change made on the phone itself. */
  async change(name, apiVersion, index, action) {
    const syncAction = { ...action, timestamp: Date.now() }
    const mutation = { type: name, index, syncAction, apiVersion, operation: SET }
    const held = this.collection(name)
    const { patch, state } = await encodeSyncdPatch(mutation, this.keyId, held.state, this.keyOf)
    this.append(held, patch, state)
  }

  /** A change that a device uploads: what it says, or null when it builds on an old version. */
  async accept(name, basedOn, bytes) {
    const held = this.collection(name)
    if (basedOn !== held.state.version) return null
    const patch = { ...proto.SyncdPatch.decode(bytes), version: { version: basedOn + 1 } }
    const copy = { ...patch, mutations: [...patch.mutations] }
    const read = await decodePatches(name, [copy], held.state, this.keyOf, {}, undefined, silent)
    this.append(held, patch, { ...read.state, version: basedOn + 1 })
    return Object.values(read.mutationMap)
  }

  append(held, patch, state) {
    held.state = state
    held.patches.push(proto.SyncdPatch.encode({ ...patch, version: { version: state.version } }).finish())
  }

  /** The patches after a version, oldest first. */
  since(name, version) {
    return this.collection(name).patches.slice(version)
  }
}
