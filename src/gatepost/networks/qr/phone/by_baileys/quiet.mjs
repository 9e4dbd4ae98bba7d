// Imported first: the libraries below print the keys of sessions to the console, which ends in a log.
for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table']) console[name] = () => {}

// What a library logs is kept to its own words: the objects beside them hold keys and messages.
const say = (level) => (object, words) => {
  const text = typeof object === 'string' ? object : words
  const cause = object?.err ?? object?.error ?? object
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  if (text) process.stderr.write(`${level} ${String(text).slice(0, 200)}${why.slice(0, 300)}\n`)
}
const nothing = () => {}

export const logger = {
  level: 'warn',
  child: () => logger,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: say('WARN'),
  error: say('ERROR'),
}
