// Finds which phone numbers are on the network. The library's own query loses which result belongs to which number.
import { USyncQuery, USyncUser } from '@whiskeysockets/baileys'

const contact = {
  name: 'contact',
  getQueryElement: () => ({ tag: 'contact', attrs: {} }),
  getUserElement: ({ phone }) => ({ tag: 'contact', attrs: {}, content: phone }),
  parser: ({ attrs, content }) => ({ found: attrs.type === 'in', asked: Buffer.from(content ?? '').toString() }),
}

export const known = async (socket, phones) => {
  const query = new USyncQuery()
  query.protocols.push(contact)
  for (const phone of phones) query.withUser(new USyncUser().withPhone(`+${phone}`))
  const { list } = await socket.executeUSyncQuery(query)
  return list
    .filter(({ contact: one }) => one?.found)
    .map(({ id, contact: one }) => ({ phone: one.asked.replace('+', '') || id.split('@')[0], jid: id }))
}
