// Imported first: the libraries print session keys to the console, and the console output is logged.
for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table']) console[name] = () => {}

// Only the text of a log entry is printed: the objects passed with it hold keys and messages.
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
