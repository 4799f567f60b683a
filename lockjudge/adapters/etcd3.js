#!/usr/bin/env node
// npm etcd3: client.lock(). It renews its lease, and has no event for a lost lock. It does not wait, so this program tries again.
"use strict";
const { need, serve } = require("./lines");
const { Etcd3, EtcdLockFailedError } = need("etcd3");
const client = new Etcd3({ hosts: process.argv[2] });
let lock;

serve("URL", "ttl,renew", {
    async acquire(key, ttl, wait) {
        for (const end = Date.now() + wait; ; await new Promise((done) => setTimeout(done, 50))) {
            const next = client.lock(key).ttl(Math.ceil(ttl / 1000));
            try {
                lock = await next.acquire();
                return "held -";
            } catch (error) {
                if (!(error instanceof EtcdLockFailedError)) throw error;
                if (Date.now() >= end) return "busy";
            }
        }
    },
    async other(key, ttl) {
        const one = await client.lock(key).ttl(Math.ceil(ttl / 1000)).acquire();
        return () => one.release();
    },
    check: () => (lock ? "held" : "lost"),
    async release() {
        const held = lock;
        lock = undefined;
        await held.release();
        return "released";
    },
});
