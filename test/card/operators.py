"""Operators that make mutants of strategies: each changes one place of a right file.

They see the text line by line: the layout is that of clang-format. A helper of the shop that reads, works and writes is written out
first, so that its steps can be changed, too. A mutant need not compile; test/card/oracle.py leaves out those that do not.
"""

import hashlib
import re

HELPER = """static enum outcome sell_one(struct sale *sale, int shard, enum guard guard, const struct store_lock *under) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, shard, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &seen, guard, under);
}

"""
STATEMENT = re.compile(r"^(    +)((?:\(void\))?[a-z_]+(?:\(.*\)| = .*);)$")
CONDITION = re.compile(r"^( +(?:if|while) )\((.*)\)( \{)?$")
RELEASE = re.compile(r"store_unlock\(|store_kv_delete|give_back\(")
OTHERS = {"GUARD": ("ANY", "VALUE", "VERSION", "FENCE"), "LOCK": ("LOCAL", "MKDIR", "FLOCK", "REDIS", "REDIS_FAIR", "REDLOCK", "ZOOKEEPER",
                                                                   "ETCD", "PG_ADVISORY"),
          "ROW": ("WAIT", "NOWAIT", "SKIP_LOCKED"), "OUTCOME": ("SOLD", "SOLD_OUT", "BUSY", "CONFLICT", "UNKNOWN", "FAILED")}


def written_out(text):
    """Writes the shop's helper out."""
    if "read_then_write(" not in text:
        return text
    first = min(text.index(each) for each in ("static enum outcome ", "static void ", "static int ") if each in text)
    return text[:first] + HELPER + text[first:].replace("read_then_write(", "sell_one(")


def changes_of(lines, at):
    """Yields (what, the lines instead of this one and, if two are swapped, of the next)."""
    line = lines[at]
    statement, condition = STATEMENT.match(line), CONDITION.match(line)
    if statement:
        indent, body = statement.groups()
        yield "drops it", [f"{indent};"]
        yield "does it twice", [line, line]
        if lines[at + 1:] and STATEMENT.match(lines[at + 1]):
            yield "swaps it with the next", [lines[at + 1], line]
        if body.startswith("outcome = "):
            yield "takes an error for success", [line, f"{indent}outcome = outcome == OUTCOME_SOLD ? outcome : OUTCOME_OK;"]
            yield "ignores the answer", [f"{indent}(void){body.removeprefix('outcome = ')}"]
        if RELEASE.search(body):
            for test in ("== OUTCOME_SOLD", "!= OUTCOME_SOLD", "!= OUTCOME_SOLD_OUT", "!= OUTCOME_CONFLICT", "!= OUTCOME_UNKNOWN"):
                yield f"does it only if the outcome {test}", [f"{indent}if (outcome {test})", "    " + line]
    if condition:
        before, test, after = condition.groups()
        yield "negates the condition", [f"{before}(!({test})){after or ''}"]
        yield "always", [f"{before}({test} || true){after or ''}"]
        yield "never", [f"{before}({test} && false){after or ''}"]
        if before.strip() == "while":
            yield "once", [line.replace("while", "if")]
    for what, there, instead in (("off by one", r" (<) ", " <= "), ("off by one", r" (<=) ", " < "), ("off by one", r" (>) ", " >= ")):
        for found in re.finditer(there, line):
            yield f"{what}: {instead.strip()} for {found[1]}", [line[:found.start()] + instead + line[found.end():]]
    for found in re.finditer(r"(?<=[ (,-])(\d+)(?=[,;) ])", line):
        for number in (int(found[1]) + 1, int(found[1]) - 1):
            yield f"{number} for {found[1]}", [line[:found.start()] + str(number) + line[found.end():]]
    for found in re.finditer(r"\b(GUARD|LOCK|ROW|OUTCOME)_([A-Z_]+)\b", line):
        for other in OTHERS[found[1]]:
            if found[2] in OTHERS[found[1]] and other != found[2]:
                yield f"{other} for {found[2]}", [line[:found.start(2)] + other + line[found.end(2):]]
    for found in re.finditer(r"options->(ttl_ms|wait_ms|work_ms)", line):
        for other in ("ttl_ms", "wait_ms", "work_ms"):
            if other != found[1]:
                yield f"{other} for {found[1]}", [line[:found.start(1)] + other + line[found.end(1):]]


def mutants_of(text):
    """Yields (the number of the line, the line, what was done, the text) for each mutant of a strategy's text."""
    text = written_out(text).replace("#include <stddef.h>", "#include <stdbool.h>\n#include <stddef.h>")
    if "<stdbool.h>" not in text:
        text = text.replace('#include "strategy.h"', '#include "strategy.h"\n\n#include <stdbool.h>')
    lines, seen = text.split("\n"), {text}
    end = next(i for i, line in enumerate(lines) if line.startswith("const struct strategy "))
    for at in range(end):
        if lines[at].startswith(("#", "/*", " *", "static const", "}")):
            continue
        for what, instead in changes_of(lines, at):
            after = at + (2 if what.startswith("swaps") else 1)
            mutant = "\n".join(lines[:at] + instead + lines[after:])
            if mutant not in seen:
                seen.add(mutant)
                yield at + 1, lines[at].strip(), what, mutant


def key_of(mutant):
    return hashlib.sha256(mutant.encode()).hexdigest()[:16]
