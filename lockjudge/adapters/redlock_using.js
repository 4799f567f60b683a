#!/usr/bin/env node
// npm redlock and its fork @sesamecare-oss/redlock: using(), which extends the lock for as long as the routine runs, and aborts a
// signal when that fails. URLS: one Redis, or several with commas between.
"use strict";
const { say, serve } = require("./lines");
const { redlock, isLocked } = require("./redlock_client");
let signal, end, run;

serve("PACKAGE URLS", "ttl,renew,told", {
    acquire: (key, ttl, wait) =>
        new Promise((resolve, reject) => {
            const settings = {
                retryCount: Math.floor(wait / 200),
                retryDelay: 200,
                automaticExtensionThreshold: Math.min(500, ttl / 4),
            };
            run = redlock.using([key], ttl, settings, async (current) => {
                signal = current;
                signal.addEventListener("abort", () => say("!lost"));
                resolve("held -");
                await new Promise((done) => (end = done));
            });
            run.catch(async (error) => ((await isLocked(error)) ? resolve("busy") : reject(error)));
        }),
    async other(key, ttl) {
        const lock = await redlock.acquire([key], ttl);
        return () => lock.release();
    },
    check: () => (signal && !signal.aborted ? "held" : "lost"),
    async release() {
        const { aborted } = signal;
        end();
        try {
            await run;
            return aborted ? "lost" : "released";
        } catch (error) {
            if (aborted || (await isLocked(error))) return "lost";
            throw error;
        } finally {
            signal = undefined;
        }
    },
});
