// Synced state on the wire: patches asked for and uploaded by the device, changes made on the phone.
import { child, children, node, result } from './nodes.mjs'

/** Answers a query for collections; a collection may bring a patch of the device's own. */
export const answerStateSync = async (world, { device }, query) => {
  const answered = []
  const collections = children(child(query, 'sync'), 'collection')
  for (const asked of collections) answered.push(await answerCollection(world, device, asked))
  return result(query, [node('sync', {}, answered)])
}

const answerCollection = async (world, device, asked) => {
  const { name, version } = asked.attrs
  const { collections } = device.phone
  const uploads = [...children(asked, 'patch'), ...children(child(asked, 'patches'), 'patch')]
  for (const upload of uploads) {
    const read = await collections.accept(name, Number(version), Buffer.from(upload.content))
    if (!read) return node('collection', { name, type: 'error' }, [node('error', { code: '409', text: 'conflict' })])
    for (const mutation of read) world.tell({ saw: 'mutation', collection: name, ...plainMutation(mutation) })
  }
  if (uploads.length) return node('collection', { name, version: String(collections.version(name)) })
  return patchesNode(name, collections, Number(version))
}

const plainMutation = ({ index, syncAction }) => {
  const { timestamp, ...action } = syncAction.value.toJSON()
  return { index, action }
}

const patchesNode = (name, collections, version) => {
  const patches = collections.since(name, version)
  const nodes = patches.map((bytes) => node('patch', {}, Buffer.from(bytes)))
  const attrs = { name, version: String(collections.version(name)), has_more_patches: 'false' }
  return node('collection', attrs, nodes.length ? [node('patches', {}, nodes)] : undefined)
}

/** Something changes on the phone; every linked device is told that there is news. */
const change = async (phone, name, apiVersion, index, action) => {
  await phone.collections.change(name, apiVersion, index, action)
  const news = () => [node('collection', { name, version: String(phone.collections.version(name)) })]
  for (const device of phone.devices.values()) await device.notify('server_sync', news())
}

export const changeLabel = (world, { id, name, color, deleted = false, account }) =>
  change(world.phone(account), 'regular', 3, ['label_edit', id], { labelEditAction: { name, color, deleted } })

export const assignLabel = (world, { label, to, on = true, addressing, account }) => {
  const jid = world.person(to).jid(addressing)
  const action = { labelAssociationAction: { labeled: on } }
  return change(world.phone(account), 'regular', 3, ['label_jid', label, jid], action)
}

export const nameContact = (world, { phone, name, account }) => {
  const person = world.person(phone)
  const contactAction = { fullName: name, firstName: name.split(' ')[0], lidJid: person.jid('lid') }
  return change(world.phone(account), 'critical_unblock_low', 2, ['contact', person.jid('pn')], { contactAction })
}

