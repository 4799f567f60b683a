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

// A verb returns its answer. An exception is the answer `error`.
exports.serve = async (usage, caps, verbs) => {
    if (process.argv.length !== usage.split(" ").length + 2) {
        console.error(`usage: ${name} ${usage}`);
        process.exit(64);
    }
    exports.say(`ready caps=${caps}`);
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [verb, ...words] = line.trim().split(" ");
        try {
            exports.say(await verbs[verb](words[0], Number(words[1]), Number(words[2])));
        } catch (error) {
            exports.say(`error ${String(error.message || error).replace(/\s+/g, " ")}`.slice(0, 200));
        }
    }
    process.exit(0);
};
