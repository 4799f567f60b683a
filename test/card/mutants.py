"""Mutants by hand: edits of the chapters' answers and of the shop's strategies. Those of operators.py are made.

Each is (the edit, the file, the text before, the text after, the chapter that grades it, is it wrong). A mutant that is not wrong is
equivalent for its chapter, and must pass.
"""

WRONG, EQUIVALENT = True, False
STRATEGIES = "strategies"
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT, NINE, TEN, ELEVEN, TWELVE, FOURTEEN, FIFTEEN = (
    f"lab/{name}/answer.c" for name in ("01-oversell", "02-mutex", "03-setnx", "04-ttl", "05-owner", "06-renewal", "07-fencing",
                                        "08-replication", "09-sessions", "10-rows", "11-shards", "12-throughput",
                                        "14-no-answer", "15-cart"))
TAKE = "return store_take_stock(sale, 0);"
UNDER_ANY = "    outcome = read_then_write(sale, 0, GUARD_ANY, lock);\n    store_unlock(sale, lock, outcome);\n"
WON = "    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);\n"
DELETE = "    (void)store_kv_delete(sale, KEY_LOCK);\n"
DELETE_OWN = "    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);\n"
RETRY = """    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    }
"""
TTL = "sale->options->work_ms + LATE_MS"
LOOKED = "    if (row.available <= 0)\n        return OUTCOME_SOLD_OUT;\n"
UNLOCK = "    store_unlock(sale, lock, outcome);\n"
PIECE = "        is_left = store_work_for(sale, sale->options->ttl_ms / 3);\n"
RENEW = "        outcome = renew(sale, token);\n"
COUNTED = """.then = &count};
    enum outcome outcome = store_kv(sale, &set);
"""
ASKED = COUNTED.replace(".then = &count}", "}")


def instead(what):
    return f"enum outcome outcome = store_take_stock(sale, 0);\n\n    return {what};"


MUTANTS = [
    ("takes from another row", ONE, "sale, 0", "sale, 1", 1, WRONG),
    ("says SOLD in any case", ONE, TAKE, "(void)store_take_stock(sale, 0);\n    return OUTCOME_SOLD;", 1, WRONG),
    ("says UNKNOWN when it has sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD ? OUTCOME_UNKNOWN : outcome"), 1, WRONG),
    ("says FAILED when it has sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD ? OUTCOME_FAILED : outcome"), 1, WRONG),
    ("says BUSY when it has sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD ? OUTCOME_BUSY : outcome"), 1, WRONG),
    ("says SOLD OUT when it has sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD ? OUTCOME_SOLD_OUT : outcome"), 1, WRONG),
    ("says BUSY when all is sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD_OUT ? OUTCOME_BUSY : outcome"), 1, WRONG),
    ("says FAILED when all is sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD_OUT ? OUTCOME_FAILED : outcome"), 1, WRONG),
    ("says UNKNOWN when all is sold", ONE, TAKE, instead("outcome == OUTCOME_SOLD_OUT ? OUTCOME_UNKNOWN : outcome"), 1, WRONG),
    ("takes twice", ONE, TAKE, "(void)store_take_stock(sale, 0);\n    " + TAKE, 1, WRONG),
    ("does not work", ONE, "    store_work(sale);\n", "", 1, WRONG),

    ("a lock of the process", TWO, "LOCK_FLOCK", "LOCK_LOCAL", 2, WRONG),
    ("a reentrant lock of the process", TWO, "LOCK_FLOCK", "LOCK_REENTRANT", 2, WRONG),
    ("drops the unlock", TWO, UNLOCK, "", 2, WRONG),
    ("gives back before it writes", TWO, UNDER_ANY,
     "    store_unlock(sale, lock, outcome);\n    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);\n", 2, WRONG),
    ("locks another row's lock at one instance", TWO, "LOCK_FLOCK, 0", "LOCK_FLOCK, sale->instance[10] - '1'", 2, WRONG),
    ("gives back only when it has sold", TWO, UNLOCK, "    if (outcome == OUTCOME_SOLD)\n    " + UNLOCK, 2, WRONG),
    ("turns away when all is sold", TWO, "    return outcome;\n}\n",
     "    return outcome == OUTCOME_SOLD_OUT ? OUTCOME_BUSY : outcome;\n}\n", 2, WRONG),
    ("a folder for a lock", TWO, "LOCK_FLOCK", "LOCK_MKDIR", 2, EQUIVALENT),
    ("a guard beside the lock", TWO, "GUARD_ANY", "GUARD_VERSION", 2, EQUIVALENT),

    ("never expires", THREE, "sale->options->ttl_ms", "0", 3, WRONG),
    ("expires by a second command", THREE, WON,
     "    (void)store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);\n" + WON, 3, EQUIVALENT),
    ("wins for ever, and expires by a second command", THREE, "sale->options->ttl_ms);\n",
     "0);\n    (void)store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);\n", 3, WRONG),
    ("deletes before it writes", THREE, WON + DELETE, DELETE + WON, 3, WRONG),
    ("goes on when it has not won", THREE, "    if (outcome != OUTCOME_OK)\n        return outcome;\n", "", 3, WRONG),

    ("keeps the key when all is sold", THREE, DELETE, "    if (outcome == OUTCOME_SOLD)\n    " + DELETE, 3, WRONG),

    ("keeps the key when all is sold", FOUR, DELETE, "    if (outcome == OUTCOME_SOLD)\n    " + DELETE, 4, WRONG),
    ("a constant TTL", FOUR, TTL, "LATE_MS", 4, WRONG),
    ("a long constant TTL", FOUR, TTL, "LATE_MS + 60000", 4, WRONG),
    ("half the work", FOUR, TTL, "sale->options->work_ms / 2 + LATE_MS", 4, WRONG),
    ("only the work", FOUR, TTL, "sale->options->work_ms", 4, WRONG),
    ("seconds for milliseconds", FOUR, TTL, "(sale->options->work_ms + LATE_MS) / 1000", 4, WRONG),
    ("twice the work", FOUR, TTL, "2 * sale->options->work_ms + LATE_MS", 4, WRONG),
    ("a second more", FOUR, TTL, TTL + " + 1000", 4, EQUIVALENT),

    ("deletes blindly", FIVE, DELETE_OWN, "    (void)token;\n" + DELETE, 5, WRONG),
    ("one token for all", FIVE, "    store_random_token(sale, token);\n", "    (void)snprintf(token, sizeof token, \"held\");\n", 5, WRONG),
    ("one token for an instance", FIVE, "    store_random_token(sale, token);\n",
     "    (void)snprintf(token, sizeof token, \"%s\", sale->instance);\n", 5, WRONG),
    ("looks, then deletes", FIVE, DELETE_OWN,
     "    char holder[KV_TEXT];\n\n    if (store_kv_get(sale, KEY_LOCK, holder) == OUTCOME_OK && holder[0] == token[0])\n"
     "    " + DELETE, 5, WRONG),
    ("the order for a token", FIVE, "    store_random_token(sale, token);\n",
     "    (void)snprintf(token, sizeof token, \"%s\", sale->order_id);\n", 5, EQUIVALENT),
    ("does not tell the warehouse", FIVE, "        tell_warehouse(sale);\n", "        (void)tell_warehouse;\n", 5, EQUIVALENT),
    ("keeps the key when all is sold", FIVE, "    give_back(sale, token);\n", "    if (outcome == OUTCOME_SOLD)\n        give_back(sale, token);\n",
     5, WRONG),
    ("never gives back", FIVE, "    give_back(sale, token);\n", "    (void)give_back;\n", 5, WRONG),

    ("renews any key", SIX, "&mine);", lambda text: text.replace("&mine);", "&more);").replace("!mine.is_yes", "false"), 6, WRONG),
    ("goes on without its key", SIX, " && !mine.is_yes ? OUTCOME_BUSY : outcome", "", 6, WRONG),
    ("renews only before a piece of work", SIX, PIECE + RENEW, RENEW + "        if (outcome == OUTCOME_OK)\n    " + PIECE, 6, WRONG),
    ("renews after two TTLs", SIX, "ttl_ms / 3", "ttl_ms * 2", 6, WRONG),
    ("wins for an hour", SIX, "token, sale->options->ttl_ms)", "token, 3600000)", 6, WRONG),
    ("a TTL of the work, and no renewal", SIX, RENEW,
     lambda text: text.replace(RENEW, "").replace("token, sale->options->ttl_ms)", "token, 2 * sale->options->work_ms + 1000)"), 6, WRONG),
    ("renews to an hour", SIX, ".ttl_ms = sale->options->ttl_ms}", ".ttl_ms = 3600000}", 6, WRONG),
    ("looks, and then renews", SIX, ".then = &more};\n    enum outcome outcome = store_kv(sale, &mine);\n",
     "};\n    enum outcome outcome = store_kv(sale, &mine);\n\n    if (outcome == OUTCOME_OK && mine.is_yes)\n"
     "        outcome = store_kv(sale, &more);\n", 6, WRONG),
    ("drops the delete", SIX, DELETE_OWN, "", 6, WRONG),
    ("deletes any key", SIX, DELETE_OWN, DELETE, 6, WRONG),
    ("a guard instead of the renewal's answer", SIX, "GUARD_ANY", "GUARD_VERSION", 6, WRONG),
    ("renews each half TTL", SIX, "ttl_ms / 3", "ttl_ms / 2", 6, EQUIVALENT),

    ("guard ANY for FENCE", SEVEN, "GUARD_FENCE", "GUARD_ANY", 7, WRONG),
    ("guard VERSION for FENCE", SEVEN, "GUARD_FENCE", "GUARD_VERSION", 7, WRONG),
    ("drops the delete", SEVEN, DELETE_OWN, "", 7, WRONG),
    ("deletes any key", SEVEN, DELETE_OWN, DELETE, 7, WRONG),
    ("writes without its number", SEVEN, "    seen.token = number;\n", "", 7, WRONG),
    ("one number for all", SEVEN, "number_of(count.reply);\n    return outcome", "set.is_yes;\n    return outcome", 7, WRONG),
    ("counts after it has the key", SEVEN, COUNTED,
     ASKED + "    if (outcome == OUTCOME_OK && set.is_yes)\n        outcome = store_kv(sale, &count);\n", 7, WRONG),
    ("counts before it has the key", SEVEN, COUNTED,
     ASKED.replace("&set", "&count") + "    if (outcome == OUTCOME_OK)\n        outcome = store_kv(sale, &set);\n"
     "    if (!set.is_yes)\n        count.reply[0] = 0;\n", 7, WRONG),
    ("says SOLD OUT when it is too late", SEVEN, "    return outcome;\n}\n",
     "    return outcome == OUTCOME_CONFLICT || outcome == OUTCOME_BUSY ? OUTCOME_SOLD_OUT : outcome;\n}\n", 7, WRONG),
    ("the row's next number, and a counter beside it", SEVEN, "seen.token = number;", "seen.token = seen.fence + 1 + 0 * number;", 7,
     EQUIVALENT),

    ("guard ANY for VERSION", EIGHT, "GUARD_VERSION", "GUARD_ANY", 8, WRONG),
    ("one vote is enough", EIGHT, "(KV_SERVERS / 2 + 1)", "1", 8, WRONG),
    ("all must vote", EIGHT, "(KV_SERVERS / 2 + 1)", "KV_SERVERS", 8, WRONG),
    ("asks two servers", EIGHT, "server <= KV_SERVERS", "server < KV_SERVERS", 8, WRONG),
    ("keeps its votes without a majority", EIGHT, "        give_back(sale, token);\n        outcome = store_pause", "        outcome = store_pause",
     8, WRONG),
    ("never gives back", EIGHT, "    give_back(sale, token);\n    return", "    return", 8, WRONG),
    ("deletes any key", EIGHT, "KV_DELETE_IF_EQUAL", "KV_DELETE", 8, WRONG),
    ("asks no more than it needs", EIGHT, "server <= KV_SERVERS; server++) {\n        struct kv_call set",
     "server <= KV_SERVERS && votes < MOST; server++) {\n        struct kv_call set", 8, EQUIVALENT),
    ("guard VALUE for VERSION", EIGHT, "GUARD_VERSION", "GUARD_VALUE", 8, EQUIVALENT),

    ("guard ANY for VERSION", NINE, "GUARD_VERSION", "GUARD_ANY", 9, WRONG),
    ("drops the release", NINE, "    release(sale, session);\n", "", 9, WRONG),
    ("never inherits", NINE, "            outcome = inherit(sale, session, &is_won);\n", "            outcome = OUTCOME_OK;\n", 9, WRONG),
    ("the heir removes any node", NINE, "KV_DELETE_IF_EQUAL", "KV_DELETE", 9, WRONG),
    ("a session that never ends", NINE, ".ttl_ms = sale->options->ttl_ms", ".ttl_ms = 0", 9, WRONG),
    ("a node without a session", NINE, ".then = &begin};", lambda text: text.replace(", .then = &begin}", "}").replace(
        "begin.is_yes", "make.is_yes"), 9, WRONG),
    ("takes the node of a living holder", NINE, "&& !lives ?", "?", 9, WRONG),
    ("leaves its session", NINE, ", .then = &end}", "}", 9, EQUIVALENT),

    ("guard ANY for VERSION", TEN, "GUARD_VERSION", "GUARD_ANY", 10, WRONG),
    ("guard VALUE for VERSION", TEN, "GUARD_VERSION", "GUARD_VALUE", 10, WRONG),
    ("no guard after sixteen tries", TEN, RETRY, """    for (int tries = 1; outcome == OUTCOME_CONFLICT; tries++) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, tries < 15 ? GUARD_VERSION : GUARD_ANY, NULL);
    }
""", 10, WRONG),
    ("no retry", TEN, RETRY, "", 10, WRONG),
    ("SOLD OUT for CONFLICT", TEN, RETRY, "    if (outcome == OUTCOME_CONFLICT)\n        outcome = OUTCOME_SOLD_OUT;\n", 10, WRONG),
    ("BUSY for CONFLICT", TEN, RETRY, "    if (outcome == OUTCOME_CONFLICT)\n        outcome = OUTCOME_BUSY;\n", 10, WRONG),
    ("ignores CONFLICT: says SOLD", TEN, RETRY, "    if (outcome == OUTCOME_CONFLICT)\n        outcome = OUTCOME_SOLD;\n", 10, WRONG),
    ("one retry, without the guard", TEN, RETRY,
     "    if (outcome == OUTCOME_CONFLICT)\n        outcome = read_then_write(sale, 0, GUARD_ANY, NULL);\n", 10, WRONG),
    ("one retry", TEN, "while (outcome", "if (outcome", 10, WRONG),
    ("no pause before the retry", TEN, RETRY, "    while (outcome == OUTCOME_CONFLICT)\n"
     "        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);\n", 10, EQUIVALENT),
    ("reads another row", TEN, "sale, 0, GUARD", "sale, 1, GUARD", 10, WRONG),

    ("forgets a row", ELEVEN, "i < shards", "i < shards - 1", 11, WRONG),
    ("begins a row late", ELEVEN, "int i = 0; i < shards", "int i = 1; i < shards", 11, WRONG),
    ("runs over the last row", ELEVEN, "(first + i) % shards", "first + i", 11, WRONG),
    ("sells from the first row under another's lock", ELEVEN, "read_then_write(sale, shard", "read_then_write(sale, 0", 11, WRONG),
    ("leaves a unit in each row", ELEVEN, "row.available <= 0", "row.available <= 1", 11, WRONG),
    ("drops the unlock", ELEVEN, UNLOCK, "", 11, WRONG),
    ("goes on after it has sold", ELEVEN, "outcome == OUTCOME_SOLD_OUT; i++", "outcome != OUTCOME_OK; i++", 11, WRONG),
    ("one lock for all rows", ELEVEN, "LOCK_REDIS, shard", "LOCK_REDIS, 0", 11, EQUIVALENT),
    ("does not look before it locks", ELEVEN, LOOKED, "", 11, EQUIVALENT),
    ("begins with the first row", ELEVEN, "first = store_deal(sale)", "first = 0", 11, EQUIVALENT),
    ("backwards", ELEVEN, "(first + i) % shards", "(first - i + shards) % shards", 11, EQUIVALENT),

    ("BUSY for UNKNOWN", TWELVE, TAKE, instead("outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome"), 12, WRONG),
    ("SOLD for UNKNOWN", TWELVE, TAKE, instead("outcome == OUTCOME_UNKNOWN ? OUTCOME_SOLD : outcome"), 12, WRONG),
    ("SOLD OUT for UNKNOWN", TWELVE, TAKE, instead("outcome == OUTCOME_UNKNOWN ? OUTCOME_SOLD_OUT : outcome"), 12, WRONG),
    ("SOLD OUT for REPEATED", TWELVE, TAKE, instead("outcome == OUTCOME_REPEATED ? OUTCOME_SOLD_OUT : outcome"), 12, WRONG),
    ("looks first", TWELVE, TAKE, "struct stock_row row;\n\n    (void)store_read_stock(sale, 0, &row);\n    " + TAKE, 12, WRONG),
    ("reads and writes", TWELVE, TAKE, "struct stock_row row;\n    enum outcome outcome = store_read_stock(sale, 0, &row);\n\n"
     "    if (outcome != OUTCOME_OK || row.available <= 0)\n        return outcome == OUTCOME_OK ? OUTCOME_SOLD_OUT : outcome;\n"
     "    return store_write_stock(sale, &row, GUARD_VERSION, 0);", 12, WRONG),
    ("works after it has sold", TWELVE, "    store_work(sale);\n    " + TAKE,
     "    enum outcome outcome = store_take_stock(sale, 0);\n\n    store_work(sale);\n    return outcome;", 12, EQUIVALENT),

    ("never looks", FOURTEEN, "is_in_doubt ? look(sale, outcome) : outcome", "outcome", 14, WRONG),
    ("looks only after sold out", FOURTEEN, "outcome == OUTCOME_SOLD || outcome == OUTCOME_REPEATED", "outcome != OUTCOME_SOLD_OUT",
     14, WRONG),
    ("sold out without a look", FOURTEEN, "outcome == OUTCOME_REPEATED)", "outcome == OUTCOME_REPEATED || outcome == OUTCOME_SOLD_OUT)",
     14, WRONG),
    ("never sure of sold out", FOURTEEN, "outcome == OUTCOME_SOLD_OUT ? OUTCOME_SOLD_OUT : OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", 14, WRONG),
    ("not there, so not sold", FOURTEEN, "outcome == OUTCOME_SOLD_OUT ? OUTCOME_SOLD_OUT : OUTCOME_UNKNOWN", "OUTCOME_BUSY", 14, EQUIVALENT),
    ("sold out if it is there", FOURTEEN, "    if (is_found)", "    if (!is_found)", 14, WRONG),
    ("does not write again", FOURTEEN, "outcome == OUTCOME_UNKNOWN ||\n             (", "(", 14, WRONG),
    ("a conflict is final", FOURTEEN, "(outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK)", "false", 14, WRONG),
    ("forgets its doubt", FOURTEEN, "is_in_doubt = is_in_doubt || outcome", "is_in_doubt = outcome", 14, WRONG),
    ("pauses before each attempt", FOURTEEN, "outcome == OUTCOME_UNKNOWN ||\n             (outcome == OUTCOME_CONFLICT && store_pause(sale)",
     "(outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_CONFLICT) &&\n             (store_pause(sale)", 14, EQUIVALENT),
    ("always looks", FOURTEEN, "is_in_doubt ? look(sale, outcome) : outcome", "look(sale, outcome)", 14, WRONG),
    ("no guard", FOURTEEN, "GUARD_VERSION", "GUARD_ANY", 14, WRONG),
    ("compares the count", FOURTEEN, "GUARD_VERSION", "GUARD_VALUE", 14, EQUIVALENT),

    ("does not sort", FIFTEEN, "    sort(rows);\n", "", 15, WRONG),
    ("sorts backwards", FIFTEEN, "first <= rows[1]", "first >= rows[1]", 15, EQUIVALENT),
    ("writes one product", FIFTEEN, "return outcome == OUTCOME_SOLD ? store_write_stock(sale, &seen[1], GUARD_ANY, NULL) : outcome;",
     "return outcome;", 15, WRONG),
    ("reads the second product without a look at its count", FIFTEEN, "take(sale, rows[1], &seen[1])",
     "store_read_stock(sale, rows[1], &seen[1])", 15, WRONG),
    ("never sold out", FIFTEEN, "seen->available <= 0", "false", 15, WRONG),
    ("turns away when a product is sold out", FIFTEEN, "OUTCOME_SOLD_OUT : outcome", "OUTCOME_BUSY : outcome", 15, WRONG),
    ("does not wait", FIFTEEN, "ROW_WAIT", "ROW_NOWAIT", 15, WRONG),
    ("skips a row that is held", FIFTEEN, "ROW_WAIT", "ROW_SKIP_LOCKED", 15, WRONG),
    ("does not work", FIFTEEN, "    store_work(sale);\n", "", 15, WRONG),
    ("SERIALIZABLE without another attempt", FIFTEEN, "READ_COMMITTED", "SERIALIZABLE", 15, WRONG),
    ("leaves its transaction open", FIFTEEN, "store_end(sale, sell_both(sale, rows))", "sell_both(sale, rows)", 15, WRONG),
    ("a version beside the lock", FIFTEEN, "GUARD_ANY", "GUARD_VERSION", 15, EQUIVALENT),
    ("works between the locks", FIFTEEN, "        outcome = take(sale, rows[1], &seen[1]);\n",
     "{ store_work(sale); outcome = take(sale, rows[1], &seen[1]); }\n", 15, EQUIVALENT),

    ("READ COMMITTED for SERIALIZABLE", f"{STRATEGIES}/postgres/pg_serializable.c", "SERIALIZABLE);", "READ_COMMITTED);", 10, WRONG),
    ("commits after a refused write", f"{STRATEGIES}/postgres/pg_serializable.c",
     "return store_end(sale, read_then_write(sale, 0, GUARD_ANY, NULL));",
     "(void)read_then_write(sale, 0, GUARD_ANY, NULL);\n    return store_end(sale, OUTCOME_SOLD);", 10, WRONG),
    ("never ends its transaction", f"{STRATEGIES}/postgres/pg_serializable.c",
     "return store_end(sale, read_then_write(sale, 0, GUARD_ANY, NULL))", "return read_then_write(sale, 0, GUARD_ANY, NULL)", 10, WRONG),
    ("no retry", f"{STRATEGIES}/spread/sharded_skip.c", "while (outcome == OUTCOME_BUSY && ", "while (outcome == OUTCOME_OK && ", 11, WRONG),
    ("held rows count as empty", f"{STRATEGIES}/spread/sharded_skip.c", "    return outcome;\n}",
     "    return outcome == OUTCOME_BUSY ? OUTCOME_SOLD_OUT : outcome;\n}", 11, EQUIVALENT),
    ("waits for one row", f"{STRATEGIES}/spread/sharded_skip.c", "ROW_SKIP_LOCKED", "ROW_WAIT", 11, EQUIVALENT),
    ("one row", f"{STRATEGIES}/spread/sharded_skip.c", "ANY_SHARD", "0", 11, WRONG),
]

# ---- operators, each on every answer that it can take

SELL = "static enum outcome sell(struct sale *sale) {"
END = "const struct strategy strategy_exercise ="
ANSWERS = (ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT, NINE, TEN, ELEVEN, TWELVE, FOURTEEN, FIFTEEN)
NUMBERS = {answer: int(answer.split("/")[1][:2]) for answer in ANSWERS}


def around(body):
    """Returns an edit that calls the answer's own sell() from a new one."""
    return lambda text: text.replace(SELL, SELL.replace(" sell(", " sell_rightly(")).replace(
        END, f"{SELL}\n{body}}}\n\n{END}")


def swap(before, after):
    return around(f"    enum outcome outcome = sell_rightly(sale);\n\n"
                  f"    return outcome == OUTCOME_{before} ? OUTCOME_{after} : outcome;\n")


# Without a fault, a customer with a unit must hear SOLD, and a customer without one must not. Each swap breaks this.
SWAPS = [("SOLD", "CONFLICT"), ("SOLD_OUT", "SOLD")]
# This changes no request and no answer.
SAME = around("    enum outcome outcome = OUTCOME_FAILED;\n\n    for (int i = 0; i < 1; i++)\n"
              "        outcome = sell_rightly(sale);\n    return outcome;\n")
MUTANTS += [(f"says {after} for {before}", answer, SELL, swap(before, after), number, WRONG)
            for answer, number in NUMBERS.items() if number not in (1, 12) for before, after in SWAPS]
MUTANTS += [("a loop that runs once", answer, SELL, SAME, number, EQUIVALENT) for answer, number in NUMBERS.items()]
