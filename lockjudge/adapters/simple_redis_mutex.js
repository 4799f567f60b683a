#!/usr/bin/env node
// npm simple-redis-mutex: lock(), with its fencing token. Nothing renews the lock, and nothing tells of its end.
"use strict";
const { need, serve } = require("./lines");
const { lock, tryLock } = need("simple-redis-mutex");
const { createClient } = need("redis");
const client = createClient({ url: process.argv[2] }).on("error", () => {});
let release;

// An attempt that fails while lock() waits is rejected where no program can catch it.
process.on("unhandledRejection", (error) => console.error(`simple_redis_mutex.js: ${error.message}`));
client.connect();

serve("URL", "ttl,fence", {
    async acquire(key, ttl, wait) {
        if (wait === 0) {
            const [hasLock, free] = await tryLock(client, key, { timeout: ttl });
            release = hasLock ? free : undefined;
        } else {
            // Documented for a holder that dies: it leaves no message, so the waiter must poll.
            const settings = { timeout: ttl, pollingInterval: 100, failAfter: wait };
            release = await lock(client, key, settings).catch((error) => {
                if (!/could not be acquired/.test(error.message)) throw error;
            });
        }
        return release ? `held ${release.fencingToken}` : "busy";
    },
    check: () => (release ? "held" : "lost"),
    async release() {
        const free = release;
        release = undefined;
        await free();
        return "released";
    },
});
