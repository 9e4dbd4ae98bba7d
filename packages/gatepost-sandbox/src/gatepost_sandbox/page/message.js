// A message as a person sees it: its text, buttons, rows and products.

/** {text, buttons, rows, catalog, products} of a ledger entry. */
export function look(entry, templates) {
  const content = entry.content ?? {};
  if (entry.kind === "refused") return plain(`Refused with ${entry.code || "a cut connection"}. ${entry.details || ""}`);
  if (entry.type === "interactive") return entry.kind === "incoming" ? plain(chosen(content)) : interactive(content);
  if (entry.type === "template") return template(content, templates);
  if (content.reply) return plain(content.reply.title || content.reply.id);
  return plain(words(entry.type, content));
}

function plain(text) {
  return { text, buttons: [], rows: [], catalog: null, products: [] };
}

function words(type, content) {
  const inner = content[type] && typeof content[type] === "object" ? content[type] : content;
  if (type === "text") return content.body ?? "";
  if (type === "reaction") return inner.emoji ? `reacted ${inner.emoji}` : "took the reaction away";
  if (type === "location") return `📍 ${inner.name || ""} ${inner.latitude}, ${inner.longitude}`;
  if (type === "button") return inner.text ?? inner.payload ?? "";
  if (type === "order") return `🛒 ${items(inner).join(", ")}${inner.text ? `: ${inner.text}` : ""}`;
  if (type === "poll") return `📊 ${inner.question ?? ""}: ${(inner.options || []).join(" · ")}`;
  if (type === "contacts") return `👤 ${people(content).join(", ")}`;
  const name = inner.caption || inner.filename || inner.link || "";
  return `[${type}] ${name}`.trim();
}

function items(order) {
  const lines = order.product_items || order.items || [];
  return lines.map((line) => `${line.quantity} × ${line.product_retailer_id || line.retailer_id}`);
}

function people(content) {
  const cards = Array.isArray(content) ? content : content.contacts || [];
  return cards.map((card) => card.name?.formatted_name || card.name || "somebody");
}

function chosen(content) {
  const reply = content.button_reply || content.list_reply;
  return reply ? `👆 ${reply.title}` : `[${content.type}]`;
}

function interactive(content) {
  const action = content.action || {};
  const sections = action.sections || [];
  const cards = (action.cards || []).flatMap((card) => card.action?.buttons || []);
  const shown = sections.flatMap((section) => section.product_items || []).map((item) => item.product_retailer_id);
  const single = action.product_retailer_id || action.parameters?.thumbnail_product_retailer_id;
  const link = action.parameters?.url ? ` (${action.parameters.display_text}: ${action.parameters.url})` : "";
  return {
    text: `${content.body?.text || `[${content.type}]`}${link}`,
    buttons: [...(action.buttons || []).map((one) => one.reply), ...cards.map((one) => one.quick_reply)].filter(Boolean),
    rows: sections.flatMap((section) => section.rows || []),
    catalog: action.catalog_id || (content.type === "catalog_message" ? "catalog" : null),
    products: shown.length ? shown : single ? [single] : [],
  };
}

function template(content, templates) {
  const language = content.language?.code;
  const found = templates.find((one) => one.name === content.name && one.language === language);
  const parts = found ? found.components : [];
  const body = parts.find((one) => one.type === "BODY");
  const quick = parts.flatMap((one) => one.buttons || []).filter((one) => one.type === "QUICK_REPLY");
  const buttons = quick.map((one) => ({ id: one.text, title: one.text, quick: true }));
  return { ...plain(body ? filled(body.text, content) : `[template ${content.name}]`), buttons };
}

function filled(text, content) {
  const parts = content.components || [];
  const given = parts.find((one) => String(one.type).toLowerCase() === "body")?.parameters || [];
  return text.replace(/\{\{(\w+)\}\}/g, (hole, name) => {
    const value = given.find((one) => one.parameter_name === name) || given[Number(name) - 1];
    return value?.text ?? value?.currency?.fallback_value ?? value?.date_time?.fallback_value ?? hole;
  });
}
