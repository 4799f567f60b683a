// The same shop, cured: one step takes the seat and makes the order, because only one rename of a file succeeds. That is right in any
// number of processes.
'use strict'
const { randomUUID } = require('node:crypto')
const fs = require('node:fs/promises')
const path = require('node:path')
const shop = require('./shop.js')

shop.serve(async (free, sold) => {
  await shop.askBank()
  const order = randomUUID()
  for (const seat of await fs.readdir(free)) {
    try {
      await fs.rename(path.join(free, seat), path.join(sold, `${order}.${seat}`))
      return [201, { order, seat }]
    } catch (error) {
      if (error.code !== 'ENOENT') throw error // else another customer has the seat
    }
  }
  return [409, { error: 'sold out' }]
})
