// A lock of redlock (on one server) or of redis-semaphore, with commands on stdin like peer.py. The key of a mutex of
// redis-semaphore is "mutex:" and its name.
"use strict";

const Redis = require("ioredis");
const [library, url] = process.argv.slice(2);
const client = new Redis(url);
const pause_ms = 20;
let lock = null;

const libraries = {
  redlock: {
    async take(name, ttl_ms, wait_ms) {
      const Redlock = require("redlock");
      const redlock = new Redlock([client], { retryCount: wait_ms / pause_ms, retryDelay: pause_ms, retryJitter: 0 });
      lock = await redlock.lock(name, ttl_ms).catch(() => null);
      return lock !== null;
    },
    extend: (ttl_ms) => lock.extend(ttl_ms).then(() => true, () => false),
    give: () => lock.unlock().then(() => true, () => false),
  },
  "redis-semaphore": {
    async take(name, ttl_ms, wait_ms) {
      const { Mutex } = require("redis-semaphore");
      lock = new Mutex(client, name.replace(/^mutex:/, ""), {
        lockTimeout: ttl_ms,
        acquireTimeout: Math.max(wait_ms, 1000),
        acquireAttemptsLimit: wait_ms > 0 ? Infinity : 1,
        retryInterval: pause_ms,
        refreshInterval: 0,
      });
      return lock.tryAcquire();
    },
    extend: () => lock._refresh(), // its timer calls this, too
    give: () => lock.release().then(() => true), // it does not tell whether it held the lock
  },
};

async function run(verb, words) {
  const { take, extend, give } = libraries[library];
  if (verb === "take") return (await take(words[0], Number(words[1]), Number(words[2]))) ? "held" : "busy";
  if (verb === "extend") return (await extend(Number(words[0]))) ? "extended" : "lost";
  return (await give()) ? "given" : "lost";
}

async function main() {
  console.log("ready");
  for await (const line of require("readline").createInterface({ input: process.stdin })) {
    const [verb, ...words] = line.split(" ");
    console.log(await run(verb, words));
  }
  client.disconnect();
}

main();
