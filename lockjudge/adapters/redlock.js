#!/usr/bin/env node
// npm redlock and its fork @sesamecare-oss/redlock: acquire() and release(), without extend(). The lock knows by its own clock
// when it expires. URLS: one Redis, or several with commas between.
"use strict";
const { serve } = require("./lines");
const { redlock, isLocked } = require("./redlock_client");
let lock;

// The answer to an error: `text` if the key is another's, or gone.
async function answer(error, text) {
    if (await isLocked(error)) return text;
    throw error;
}

serve("PACKAGE URLS", "ttl", {
    async acquire(key, ttl, wait) {
        const settings = { retryCount: Math.floor(wait / 200), retryDelay: 200 };
        try {
            lock = await redlock.acquire([key], ttl, settings);
            return "held -";
        } catch (error) {
            return answer(error, "busy");
        }
    },
    check: () => (lock && lock.expiration > Date.now() ? "held" : "lost"),
    release: () => lock.release().then(
        () => "released",
        (error) => answer(error, "lost"),
    ),
});
