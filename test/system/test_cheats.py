"""lab check against files that try to get points which they do not deserve: none gets one, and each says why. It needs no servers."""

import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from harness import BUILD, ROOT

LAB = ROOT / BUILD / "bin/lab"
CHEATS = ROOT / "test/cheats"
CHECK = {"name": "three customers", "points": 100, "options": "", "orders": 3, "instances": 2, "stock": 2, "preemptions": 3,
         "faults": "none", "advice": "Sell."}

# Each file of test/cheats, the class of trick that it stands for, and the reason that the grader gives, or may give.
CALLS, CHANNEL, MEMORY, IDENTITY, STATE, CLOCK, LOADING, LINKING, COMPILER, OUTPUT, LIMITS, ANSWERS, BLAME = (
    "calls functions of its process that are not on the list", "forges the channel of the verdict", "overwrites memory",
    "tells a check from a sale", "keeps state from one sale to the next", "looks at a clock", "runs when it is loaded",
    "puts other functions in the place of the store's", "makes the compiler read or write something", "prints a result",
    "exhausts a limit", "gives a false answer", "blames the machine, so that there is no grade")
SYSTEM_CALL, TOO_MUCH = "it made a system call", "the compiler could not finish it: it crashed, or reached a limit"
WILD, TOLD_NO = "it asked its store for something that no function of store.h asks for", "has a sale, and its customer was told no"
SIGNAL, OVERSOLD, ATTRIBUTE = "signal 11", "units were sold of a stock of 2", "an attribute has no place in a strategy"
OTHER_IDS, OTHER_MEMORY = "it does something else for another order id, token or instance", "it looks at memory that is not its own"
TRICKS = {
    "calls_the_grader": (CALLS, SIGNAL),
    "kills_the_grader": (CALLS, SYSTEM_CALL),
    "leaves_its_process": (CALLS, "it ended its process in the middle of a sale"),
    "leaves_by_longjmp": (CALLS, SIGNAL),
    "forges_the_line": (CHANNEL, SYSTEM_CALL),
    "says_that_it_was_killed": (CHANNEL, SYSTEM_CALL),
    "waits_for_ever": (BLAME, SYSTEM_CALL),
    "blocks_the_signal": (BLAME, "a loop without a store call does not end"),
    "fills_the_memory": (BLAME, SIGNAL, SYSTEM_CALL),  # beside AddressSanitizer's, libc's own malloc() begins with getrandom()
    "fills_the_compilers_memory": (BLAME, TOO_MUCH),
    "multiplies_its_macros": (BLAME, TOO_MUCH),
    "takes_the_linkers_name": (BLAME, "_DYNAMIC: the linker has this name"),
    "overwrites_the_paper": (CHANNEL, OVERSOLD, OTHER_MEMORY),  # its compiler decides how much of it its own code sees
    "blames_its_last_call": (CHANNEL, SIGNAL),
    "forges_a_crash": (CHANNEL, "it ended its process in the middle of a sale"),
    "overwrites_the_judge": (MEMORY, OVERSOLD),
    "overwrites_the_stack": (MEMORY, SIGNAL),
    # From the first question on a pupil sees names that a hash of the file has chosen, none of the model's.
    "looks_at_ids": (IDENTITY, OTHER_IDS, OVERSOLD),
    "knows_the_ids": (IDENTITY, OTHER_IDS, OVERSOLD),
    "knows_the_tokens": (IDENTITY, OTHER_IDS, OVERSOLD),
    "knows_the_instances": (IDENTITY, OTHER_IDS, OVERSOLD),
    "knows_the_ninth_token": (IDENTITY, OTHER_IDS, OVERSOLD),
    "knows_live_ids": (IDENTITY, OTHER_IDS),
    "names_an_id": (IDENTITY, OVERSOLD),
    "sees_the_future": (IDENTITY, OTHER_IDS, OTHER_MEMORY),
    "looks_at_addresses": (IDENTITY, OTHER_MEMORY + ", or at an address"),
    "counts_sales": (STATE, OTHER_MEMORY),
    "counts_backwards": (STATE, OVERSOLD),
    "marks_its_desk": (STATE, OVERSOLD),
    "keeps_an_unset_variable": (STATE, OVERSOLD),
    "reads_its_thread": (STATE, OVERSOLD),
    "keeps_data": (STATE, ATTRIBUTE),
    "keeps_thread_data": (STATE, "a variable that sales share behind the store"),
    "reads_the_processor": (CLOCK, SIGNAL),
    "reads_the_kernels_page": (CLOCK, SIGNAL),
    "asks_for_the_time": (CLOCK, SIGNAL),
    "hides_an_attribute": (LOADING, ATTRIBUTE),
    "chooses_when_loaded": (LOADING, ATTRIBUTE),
    "replaces_the_store": (LINKING, "store_take_stock: the store or the C library has a function of this name"),
    "replaces_the_operations": (LINKING, "The ledger has no sale of that order"),
    "names_another_function": (LINKING, "__asm__ has no place in a strategy"),
    "aliases_the_store": (LINKING, ATTRIBUTE),
    "includes_a_file": (COMPILER, '#include "/proc/self/environ"'),
    "embeds_a_file": (COMPILER, ATTRIBUTE),
    "renames_by_a_macro_of_the_compiler": (COMPILER, "a.c:2: choose another name: the compiler's begin with __"),
    "prints_a_result": (OUTPUT, "puts: a strategy may not call this"),
    "tells_a_result": (OUTPUT, "was told FAILED"),
    "asks_without_end": (LIMITS, "an order does not end"),
    "asks_something_new": (LIMITS, OVERSOLD),
    "loops_when_it_matters": (LIMITS, "a loop without a store call does not end"),
    "ends_a_transaction_of_nobody": (ANSWERS, WILD),
    "asks_with_wild_arguments": (ANSWERS, WILD),
    "returns_what_is_no_outcome": (ANSWERS, TOLD_NO),
    "plays_two_sales": (ANSWERS, TOLD_NO),
    "changes_its_options": (ANSWERS, "was told FAILED"),
    "changes_its_unit": (ANSWERS, "The ledger says that A has unit 2"),
}

# It stops at once if a row that another sale has changed is as before.
RELIES = """static enum outcome sell(struct sale *sale) {
    struct stock_row row = {0};
    enum outcome outcome = OUTCOME_CONFLICT;

    for (int64_t before = -1; outcome == OUTCOME_CONFLICT; before = row.version) {
        if (before >= 0 && (outcome = store_pause(sale)) != OUTCOME_OK)
            return outcome;
        outcome = store_read_stock(sale, 0, &row);
        if (outcome == OUTCOME_OK && row.version == before)
            __builtin_trap();
        outcome = outcome == OUTCOME_OK ? read_then_write(sale, 0, GUARD_VERSION, NULL) : outcome;
    }
    return outcome;
}

"""


def distances(program, to, *flags):
    """The distance of each function or variable of a program from one that a strategy may call."""
    at = {}
    for line in subprocess.run(["nm", *flags, program], capture_output=True, text=True, check=True).stdout.splitlines():
        if found := re.fullmatch(r"([0-9a-f]+) \w (\w+)(@@?[\w.]+)?", line):
            at.setdefault(found[2], int(found[1], 16))
    return {name: place - at[to] for name, place in at.items()}


class Cheats(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory(prefix="sale-cheats-")
        self.addCleanup(self.home.cleanup)
        self.chapters = Path(self.home.name) / "chapters"
        (self.chapters / "01-one").mkdir(parents=True)
        (self.chapters / "01-one/chapter.json").write_text(json.dumps({"title": "One", "checks": [CHECK]}))
        libc = re.search(r"libc\.so\.6 => (\S+)", subprocess.run(["ldd", LAB], capture_output=True, text=True, check=True).stdout)[1]
        self.places = {"lab": distances(LAB, "store_read_stock"), "libc": distances(libc, "__stack_chk_fail", "-D")}

    def check(self, text, name):
        folder = Path(self.home.name) / name
        folder.mkdir()
        (folder / "a.c").write_text(re.sub(r"@(\w+):(\w+)(?: \+ (\d+))?@",
                                           lambda found: str(self.places[found[1]][found[2]] + int(found[3] or 0)), text))
        done = subprocess.run([LAB, "check", folder / "a.c", "--chapter", "1", "--chapters", self.chapters, "--brief"], cwd=ROOT,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_no_cheat_gets_a_point_and_each_says_why(self):
        files = sorted(CHEATS.glob("*.c.in"))
        self.assertEqual([path.name.partition(".")[0] for path in files], sorted(TRICKS))
        self.assertGreaterEqual(len(files), 20)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            ended = list(pool.map(lambda path: self.check(path.read_text(), path.name.partition(".")[0]), files))
        for path, (code, out, err) in zip(files, ended):
            name = path.name.partition(".")[0]
            trick, *says = TRICKS[name]
            with self.subTest(name, trick=trick):
                self.assertEqual((code, err), (1, ""), out)
                self.assertEqual(out.splitlines()[-1], "  0 of 100 points")
                self.assertNotIn("  holds ", out)
                self.assertTrue(any(text in out for text in says), out)

    def test_the_same_file_without_its_trick_gets_its_points(self):
        text = (CHEATS / "knows_the_ids.c.in").read_text()
        honest = re.sub(r"return strncmp.*?;\n", "return store_take_stock(sale, 0);\n", text, flags=re.DOTALL)
        self.assertEqual(self.check(honest, "honest")[0], 0)

    def test_a_file_may_rely_on_what_no_store_answers(self):
        """The grader guesses answers, and some of its guesses are impossible."""
        text = (CHEATS / "counts_sales.c.in").read_text()
        honest = re.sub(r"(?s)#define LAB.*?(?=const struct strategy)", RELIES, text)
        self.assertEqual(self.check(honest, "relies"), (0, unittest.mock.ANY, ""))


if __name__ == "__main__":
    unittest.main()
