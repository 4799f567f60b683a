// The same shop with a lock around each sale: the next sale begins when the last one has ended. That is right in one process. A second
// process has a lock of its own.
'use strict'
const shop = require('./shop.js')

let last = Promise.resolve()

shop.serve((free, sold) => {
  const sale = last.then(() => shop.sell(free, sold))
  last = sale.catch(() => {})
  return sale
})
