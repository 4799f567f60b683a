"""A user's own strategy in a shared object: it sells, it is judged, and a file that is no strategy is refused."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import uuid
from pathlib import Path

from harness import BUILD, LOST_UPDATES, ROOT, Ledger, Stack

SEAM = ["strategies/seam/store.h", "strategies/seam/read_then_write.h", "strategies/redis/key_lock.h"]
MISTAKES = """#include "strategy.h"
#include <string.h>
static enum outcome sell(struct sale *sale) {
    return sale->options->work_ms > 0 ? store_write_stock(sale, &(struct stock_row){0}, GUARD_ANY, 0)
         : sale->options->ttl_ms > 10000 ? OUTCOME_SOLD : OUTCOME_OK;
}
const struct strategy strategy_exercise = {"exercise", "", "", "", "", "", .default_shards = 1, .sell = sell};
"""


def source_of(strategy):
    """Builds a shipped strategy as an exercise."""
    text = (ROOT / f"strategies/{strategy}.c").read_text()
    name = Path(strategy).name
    return text.replace(f"strategy_{name}", "strategy_exercise").replace(f'.name = "{name}"', '.name = "exercise"')


class Exercise(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = Path(cls.folder.name) / "exercise.so"
        cls.build(source_of("postgres/atomic"))
        cls.stack = Stack(INVENTORY_SVC_FLAGS="--lab", INVENTORY_SVC_EXERCISE=str(cls.file)).up()

    @classmethod
    def tearDownClass(cls):
        cls.stack.down()
        cls.folder.cleanup()

    @classmethod
    def build(cls, text, file=None):
        paths = [f"-I{ROOT / Path(header).parent}" for header in SEAM]
        if file is None:
            cls.built = text
        new = cls.file.with_suffix(".new")  # never write into a file that a process has mapped
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", *paths, "-x", "c", "-", "-o", new], input=text,
                       text=True, check=True)
        return new.replace(file or cls.file)

    def with_exercise(self, text):
        if text != self.built:
            self.build(text)
            self.stack.script("up")

    def sell(self, *args):
        done = self.stack.loadgen("--output-format", "json", "--strategy", "exercise", "-R", "500", "--requests", "100",
                                  "--stock", "50", *args)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["strategies"][0]

    def test_it_sells_and_is_judged(self):
        self.with_exercise(source_of("postgres/atomic"))
        summary = self.sell()
        self.assertEqual(summary["verdict"], "VALID")
        ledger = Ledger(self.stack, summary["product_id"])
        ledger.check(self)
        self.assertEqual((ledger.sold, ledger.available), (50, 0))
        self.assertRegex(self.stack.ask("GET", "/metrics", to="inventory-1").text,
                         r'inventory_sales_total\{strategy="exercise",outcome="SOLD"\} [1-9]')
        listed = self.stack.ask("GET", "/strategies").json["strategies"]
        self.assertEqual([strategy["name"] for strategy in listed][-2:], ["batched", "exercise"])

    def test_one_that_guards_nothing_is_found_out_once_it_is_built(self):
        self.with_exercise(source_of("process/none"))
        summary = self.sell("--work", "5ms", "--expect", "exercise=OVERSELL?+UNDERSELL?+EARLY-SOLD-OUT?+" + LOST_UPDATES)
        self.assertGreater(Ledger(self.stack, summary["product_id"]).twins, 0)

    def test_its_mistakes_are_told_and_the_service_lives(self):
        self.with_exercise(MISTAKES)
        for spec, why in (("exercise", "the strategy answered OK"), ("exercise,work=1ms", "the strategy sold from a row that has no unit left"),
                          ("exercise,ttl=11s", "the strategy answered SOLD but sold nothing")):
            answer = self.stack.ask("POST", f"/products/{self.stack.product(spec)}/reservations",
                                    {"order_id": str(uuid.uuid4())}, to="inventory-1")
            self.assertEqual((answer.status, why in answer.text), (500, True), answer.text)
        self.assertEqual(self.stack.states()["inventory-1"], "ready")

    def start(self, file, *flags):
        """The message of an inventory-svc that does not start, without the path."""
        env = dict(os.environ, INVENTORY_SVC_DB="host=/nowhere", INVENTORY_SVC_REDIS="redis://127.0.0.1:1/0")
        done = subprocess.run([ROOT / BUILD / "bin/inventory-svc", "--exercise", file, *flags], env=env, capture_output=True,
                              text=True, timeout=30)
        return done.returncode, done.stderr.replace(str(file), "FILE").strip()

    def test_a_file_that_is_no_exercise_is_refused_at_the_start(self):
        bad = self.file.with_name("bad.so")
        self.assertEqual(self.start(self.file), (64, "inventory-svc: --exercise runs code of others: add --lab"))
        self.assertEqual(self.start(bad, "--lab"), (66, "inventory-svc: --exercise FILE: No such file or directory"))
        bad.write_text("no shared object")
        self.assertEqual(self.start(bad, "--lab"), (65, "inventory-svc: --exercise FILE: FILE: file too short"))
        good = source_of("postgres/atomic")
        for text, why in (
                (good.replace("strategy_exercise", "strategy_other"), "it defines no strategy_exercise"),
                (good.replace('"exercise"', '"atomic"'), 'its .name is not "exercise"'),
                (good.replace(".sell = atomic_sell,", "")
                 .replace("static enum", "enum"), "it has no .sell"),
                (re.sub(r"\.promise = .*", "", good), "it lacks one of the texts .family, .summary, .promise, .breaks, .source"),
                (good.replace(".default_shards = 1", ".default_shards = 0"), "its .default_shards is not 1..1000"),
                (good.replace(".sell =", ".takes = 512, .sell ="), "its .takes has bits that are not options"),
                (good.replace(".sell =", ".needs = 9, .sell ="), "its .needs is not a server"),
                (good.replace("store_work(sale)", "extern void no_such(void); no_such()"), "FILE: undefined symbol: no_such")):
            self.build(text, bad)
            self.assertEqual(self.start(bad, "--lab"), (65, "inventory-svc: --exercise FILE: " + why))

    def test_all_that_a_strategy_may_call_is_there_and_nothing_else(self):
        headers = "".join(re.sub(r"/\*.*?\*/", "", (ROOT / header).read_text(), flags=re.DOTALL) for header in SEAM)
        promised = set(re.findall(r"^[a-z]\w* (?:\w+ )*\*?(\w+)\(", headers, re.MULTILINE)) - {"outcome_of_sale"}
        listed = subprocess.run(["nm", "-D", "--defined-only", ROOT / BUILD / "bin/inventory-svc"], capture_output=True,
                                text=True, check=True).stdout
        self.assertEqual({line.split()[-1] for line in listed.splitlines() if " T " in line}, promised)


if __name__ == "__main__":
    unittest.main()
