#!/usr/bin/env node
// npm redis-semaphore: Mutex with its own renewal, and onLockLost.
"use strict";
const { need, say, serve } = require("./lines");
const { Mutex } = need("redis-semaphore");
const Redis = need("ioredis");
const client = new Redis(process.argv[2]).on("error", () => {});
let mutex;

// A renewal that fails is rejected where no program can catch it.
process.on("unhandledRejection", (error) => console.error(`redis_semaphore.js: ${error.message}`));

serve("URL", "ttl,renew,told", {
    async acquire(key, ttl, wait) {
        const limit = wait > 0 ? { acquireTimeout: wait } : { acquireAttemptsLimit: 1 };
        mutex = new Mutex(client, key, { lockTimeout: ttl, onLockLost: () => say("!lost"), ...limit });
        return (await mutex.tryAcquire()) ? "held -" : "busy";
    },
    async other(key, ttl) {
        const one = new Mutex(client, key, { lockTimeout: ttl });
        await one.acquire();
        return () => one.release();
    },
    check: () => (mutex && mutex.isAcquired ? "held" : "lost"),
    async release() {
        const wasHeld = mutex.isAcquired;
        await mutex.release();
        return wasHeld ? "released" : "lost";
    },
});
