// For redlock.js and redlock_using.js: the package, its clients, and the meaning of its errors.
"use strict";
const { need } = require("./lines");
const [name, urls = ""] = process.argv.slice(2);
const library = need(name || "redlock");
const Redis = need("ioredis");
const clients = urls.split(",").map((url) => new Redis(url).on("error", () => {}));

exports.redlock = new (library.Redlock || library.default)(clients);

// Did each vote against us in the last attempt come from a Redis where the key is another's, or gone?
exports.isLocked = async (error) => {
    const last = await (error.attempts || []).at(-1);
    const against = last ? [...last.votesAgainst.values()] : [];
    return against.length > 0 && against.every((vote) => vote instanceof library.ResourceLockedError);
};
