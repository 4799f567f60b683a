// For the adapters in Node: the lines of the protocol (docs/lockjudge.md), and npm packages of build/locks.
"use strict";
const path = require("path");
const readline = require("readline");

const name = path.basename(process.argv[1]);

// Without the package, or the arguments, the program ends with one line.
exports.need = (wanted) => {
    try {
        return require(require.resolve(wanted, { paths: [process.cwd(), path.join(__dirname, "../../build/locks")] }));
    } catch (error) {
        if (error.code !== "MODULE_NOT_FOUND") throw error;
        console.error(`${name}: npm package ${wanted} is missing: scripts/deps locks`);
        process.exit(69);
    }
};

exports.say = (text) => process.stdout.write(`${text}\n`);

// Asks for one of many other locks, again and again: `other` returns a function that frees it.
async function churn(other, key, ttl, end) {
    while (performance.now() < end) {
        try {
            const free = await other(key, ttl);
            await free();
        } catch {
            await new Promise((done) => setTimeout(done, 50));
        }
    }
}

// A verb returns its answer. An exception is the answer `error`.
exports.serve = async (usage, caps, verbs) => {
    if (process.argv.length !== usage.split(" ").length + 2) {
        console.error(`usage: ${name} ${usage}`);
        process.exit(64);
    }
    exports.say(`ready caps=${caps}${verbs.other ? ",load" : ""}`);
    verbs.load = (key, count, ttl, time) => {
        for (let i = 0; i < count; i++) churn(verbs.other, `${key}-${i}`, ttl, performance.now() + time);
        return "loaded";
    };
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [verb, ...words] = line.trim().split(" ");
        try {
            exports.say(await verbs[verb](words[0], ...words.slice(1).map(Number)));
        } catch (error) {
            exports.say(`error ${String(error.message || error).replace(/\s+/g, " ")}`.slice(0, 200));
        }
    }
    process.exit(0);
};
