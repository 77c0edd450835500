// Reads a task's stream by a third party's EventSource, over connections that are cut. STREAM is its address. Prints the
// number of connections; fails if an event is missing, comes twice, or does not come.
import { EventSource } from 'eventsource'

const seen = []
let connections = 0
const source = new EventSource(process.env.STREAM)
source.onopen = () => (connections += 1)
for (const type of ['thinking', 'tool_call', 'tool_result', 'message']) {
  source.addEventListener(type, (event) => {
    const data = JSON.parse(event.data)
    if (data.type !== type || String(data.seq) !== event.lastEventId) throw new Error(event.data)
    seen.push(data)
  })
}
const late = setTimeout(() => fail('the stream did not end'), 60_000)
source.onerror = (event) => {
  // Without more events the server answers 204, and the reader gives up for good.
  if (source.readyState !== EventSource.CLOSED) return
  clearTimeout(late)
  if (event.code !== 204) fail(`closed by ${event.code} ${event.message}`)
  if (!seen.every((data, place) => data.seq === place + 1)) fail(`gaps: ${seen.map((data) => data.seq)}`)
  if (seen.at(-1)?.type !== 'message') fail('the answer is missing')
  console.log(`${seen.length} events over ${connections} connections`)
  if (connections < 3) fail('it was hardly cut')
}

function fail(why) {
  console.error(why)
  process.exit(1)
}
