// A student's shop for tickets, without a database: each free seat is a file. It looks for a free seat, and then takes it.
// Between the two another customer can find the same seat, so it oversells.
//
// Usage: node shop.js PORT FOLDER      several processes may share the folder
//   POST /shows {"seats": 50}         ->  201 {"show": "6f1c..."}
//   POST /orders {"show": "6f1c..."}  ->  201 {"order": "03d9...", "seat": "17"}, or 409 {"error": "sold out"}
//   GET /                             ->  200 "shop.js"
'use strict'
const { randomUUID } = require('node:crypto')
const fs = require('node:fs/promises')
const http = require('node:http')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')

const [, , port, data] = process.argv

async function create({ seats }) {
  const show = randomUUID()
  for (const folder of ['free', 'sold']) await fs.mkdir(path.join(data, show, folder), { recursive: true })
  for (let seat = 1; seat <= seats; seat++) await fs.writeFile(path.join(data, show, 'free', `${seat}`), '')
  return [201, { show }]
}

// The bank says that the card is good. Its service takes about 50 ms.
async function askBank() {
  await sleep(50)
}

// `free` and `sold` are the folders of the show. An order is a file ORDER.SEAT.
async function sell(free, sold) {
  const [seat] = await fs.readdir(free)
  if (seat === undefined) return [409, { error: 'sold out' }]
  await askBank()
  const order = randomUUID()
  await fs.writeFile(path.join(sold, `${order}.${seat}`), '')
  await fs.rm(path.join(free, seat), { force: true })
  return [201, { order, seat }]
}

async function answer(sell, request) {
  if (request.method === 'GET') return [200, path.basename(process.argv[1])]
  let body = ''
  for await (const part of request) body += part
  const wanted = JSON.parse(body)
  if (request.url === '/shows') return create(wanted)
  const show = path.join(data, path.basename(wanted.show))
  return sell(path.join(show, 'free'), path.join(show, 'sold'))
}

function serve(sell) {
  const server = http.createServer(async (request, response) => {
    const [status, reply] = await answer(sell, request).catch((error) => [500, { error: error.message }])
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply))
  })
  server.listen(Number(port), '127.0.0.1')
}

module.exports = { askBank, sell, serve }
if (require.main === module) serve(sell)
