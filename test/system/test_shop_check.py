"""loadgen shop check: shop files are tested before a run; a mistake in a file, and a shop that is wrong without a race, are told."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, ROOT, SystemTest
from shop_server import ShopHandler, ShopServer

PROGRAM = str(ROOT / BUILD / "bin/loadgen")


def write(test, text, suffix=".shop"):
    with tempfile.NamedTemporaryFile("w", suffix=suffix, delete=False) as file:
        file.write(text)
    test.addCleanup(os.unlink, file.name)
    return file.name


class OwnShop(SystemTest):
    def check(self, *changes, args=(), code=0, file="order-svc/order-svc"):
        text = (ROOT / f"shops/{file}.shop").read_text()
        for port, name in (8000, "order-svc"), (8001, "inventory-1"), (8002, "inventory-2"):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{self.stack.port(name)}")
        for old, new in ("set strategy none", "set strategy atomic"), *changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        done = self.stack.loadgen("shop", "check", write(self, text), *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_the_own_services_can_be_judged_in_all_but_unbacked(self):
        said = self.check()
        self.assertNotIn("FAILED", said)
        for line in ["ok      stock 1, the ledger of the new product: orders 0, left 1",
                     "ok      stock 1, the ledger after customer 1: orders 1, left 0",
                     "ok      stock 3, the ledger after customer 5: orders 3, left 0",
                     "ok      stock 2, customer 1 repeats the order with its key: sold, and no second order",
                     "A run can judge:\n  OVERSELL, LEAK\n  UNDERSELL, EARLY-SOLD-OUT\n  GHOST\n  ORPHAN\n  DUPLICATE\n  TWIN\n  STALE",
                     "A run cannot judge:\n  UNBACKED: [Orders] has no column reserved"]:
            self.assertIn(line + "\n", said)
        self.assertRegex(said, r"ok      stock 1, customer 2 orders: soldout, by the rule in line \d+\n")
        self.assertRegex(said, r"An order takes [0-9.]+ ms: the median of 5 that were sold")

    def test_the_paths_of_the_article_can_be_judged(self):
        for file in "article/place-an-order", "article/minus-inventory":
            with self.subTest(file):
                self.assertIn("OVERSELL, LEAK\n  UNDERSELL, EARLY-SOLD-OUT\n", self.check(file=file))

    def test_it_is_told_as_json(self):
        said = json.loads(self.check(("unit, remaining, order_id AS key", "order_id AS id2"), args=("--output-format", "json")))
        self.assertTrue(said["ok"])
        self.assertTrue(all(step["ok"] for step in said["steps"]))
        self.assertEqual(said["can"], ["OVERSELL, LEAK", "UNDERSELL, EARLY-SOLD-OUT", "GHOST", "ORPHAN"])
        self.assertIn({"anomalies": "STALE", "why": "[Orders] has no column remaining; a run with --witness can judge it by [Witness]"},
                      said["cannot"])
        self.assertEqual(said["order_ms"]["orders"], 5)

    def test_each_mistake_in_the_file_is_told(self):
        where = "FROM reservation WHERE product_id = {{product}}"
        for old, new, came, change in [
                (where, "FROM reservation", "came: 1", "limit it to the product of this round"),
                (where, where + " AND false", "came: 0", "[Orders] does not show the order"),
                ("SELECT order_id,", "SELECT 'x' || order_id AS order_id,", 'others, such as "x', "must be the same id"),
                ("1 AS quantity", "2 AS quantity", "another sum", "the column quantity must be that of the order"),
                ("1 AS quantity", "NULL::int AS quantity", "[Orders], row 1: the column quantity is NULL", "this query"),
                ("1 AS quantity", "1 AS count", "[Orders]: there is no column quantity", "this query"),
                ("quantity, unit,", "quantity, unit + 7 AS unit,", "for the order", "the column unit"),
                ("order_id AS key", "product_id AS key", "customer 1 sent", "the column key"),
                ("quantity, unit,", "quantity, 0 AS reserved,", "another number", "the column reserved"),
                (" AS left\n", " + 1 AS left\n", "2 left", "{{stock}} at first"),
                ("p.initial_stock AS initial", "7 AS initial", "7 instead of 1", "the column initial"),
                ("FROM product p", "FROM no_such_table p", 'the database refuses the query: ', "this query"),
                (where, "FROM reservation WHERE product_id::text = '{{product}}'", None, None),
                ('soldout  jsonpath "$.error" == "sold_out"', "busy status == 1", "unknown: ", "add a rule `soldout`"),
                ("sold     status == 201", "sold     status == 299", "unknown: ", "a rule `sold` in"),
                ("sold     status == 201", "sold     status >= 200", "sold, by the rule in line", "also holds for a refusal")]:
            with self.subTest(new):
                if came is None:
                    self.check((old, new), code=64)
                    continue
                said = self.check((old, new), args=("--drain", "0"), code=1)
                step = said[said.index("FAILED"):].splitlines()
                self.assertTrue(step[1].startswith("        expected: "), said)
                self.assertIn(came, step[2])
                self.assertIn("        change: ", step[3])
                self.assertIn(change, step[3])
                self.assertIn("A run can judge nothing until each step is ok.\n", said)

    def test_a_ledger_of_its_own_that_is_read_only(self):
        said = self.check(("SELECT order_id,", "WITH gone AS (DELETE FROM reservation RETURNING 1) SELECT order_id,"), code=1)
        self.assertIn("cannot execute SELECT in a read-only transaction", said)

    def test_a_database_that_is_away(self):
        said = self.check(("ledger postgres {{LOADGEN_INVENTORY_DB}}", "ledger postgres host=127.0.0.1 port=1"),
                          args=("--timeout", "2s"), code=69)
        self.assertIn("change: the address in the line == ledger ... ==, or start the database", said)


FILE = """shop Student
base http://127.0.0.1:{port}
== setup ==
POST /products
{{"stock": {{{{stock}}}}}}
HTTP 201
[Captures]
product: jsonpath "$.id"
== order ==
POST /orders
{{"product": {{{{product}}}}, "key": "{{{{key}}}}"}}
HTTP *
[Captures]
order: jsonpath "$.order"
== outcome ==
sold     status == 201
soldout  status == 409
== ledger command {command} ==
[Orders]
SELECT id AS order_id, 1 AS quantity, key FROM orders WHERE product = {{{{product}}}}
[Stock]
SELECT left FROM product WHERE id = {{{{product}}}}
"""

READER = """import csv, json, pathlib, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(sys.stdin.read())
names = [column[0] for column in rows.description]
if sys.argv[2] == "lag":  # what this command would have printed at its last call
    now, last = json.dumps([dict(zip(names, row)) for row in rows]), pathlib.Path(sys.argv[1] + names[0])
    print(last.read_text() if last.exists() else now)
    last.write_text(now)
elif sys.argv[2] == "json":
    for row in rows:
        print(json.dumps(dict(zip(names, row))))
else:
    csv.writer(sys.stdout, csv.excel if sys.argv[2] == "csv" else csv.excel_tab).writerows([names, *rows])
"""


class Student(ShopHandler):
    def do_POST(self):  # noqa: N802
        said = self.said()
        with self.server.lock, sqlite3.connect(self.server.path) as database:
            status, reply = (self.create if self.path == "/products" else self.order)(database, said)
        self.reply(status, reply)

    def create(self, database, said):
        return 201, {"id": database.execute("INSERT INTO product (left) VALUES (?)", [said["stock"]]).lastrowid}

    def order(self, database, said):
        fault, = self.server.faults or [""]
        known = database.execute("SELECT id FROM orders WHERE key = ?", [said["key"]]).fetchone()
        if known and fault != "keyless":
            return 201, {"order": known[0]}
        left, = database.execute("SELECT left FROM product WHERE id = ?", [said["product"]]).fetchone()
        if left < 1 and fault != "blind":
            return 409, {}
        database.execute("UPDATE product SET left = ? WHERE id = ?", [left - 1, said["product"]])
        if fault == "no row":
            return 201, {"order": 999}
        row = database.execute("INSERT INTO orders (product, key) VALUES (?, ?)", [said["product"], said["key"]])
        return 201, {"order": row.lastrowid}


class StudentShop(unittest.TestCase):
    def setUp(self):
        self.server = ShopServer(Student)
        self.addCleanup(self.server.end)
        self.server.faults = []
        self.server.path = write(self, "", ".db")
        with sqlite3.connect(self.server.path) as database:
            database.executescript("CREATE TABLE product (id INTEGER PRIMARY KEY, left INTEGER);"
                                   "CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER, key TEXT)")
        self.reader = write(self, READER, ".py")

    def text(self, form="json", command=None):
        return FILE.format(port=self.server.server_port,
                           command=command or f"{sys.executable} -IS {self.reader} {self.server.path} {form}")

    def check(self, text, *args, code=0):
        done = subprocess.run([PROGRAM, "shop", "check", write(self, text), "--drain", "0", *args], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_command_prints_json_lines_csv_or_tsv(self):
        for form in "json", "csv", "tsv":
            with self.subTest(form):
                said = self.check(self.text(form))
                self.assertIn("A run can judge:\n  OVERSELL, LEAK\n  UNDERSELL, EARLY-SOLD-OUT\n  GHOST\n  ORPHAN\n  DUPLICATE\nA run", said)
        self.assertIn("DUPLICATE", self.check(self.text(command=f"exec {sys.executable} -IS '{self.reader}' {self.server.path} csv")))

    def test_a_ledger_that_lags_is_waited_for(self):
        self.addCleanup(os.unlink, self.server.path + "order_id")
        self.addCleanup(os.unlink, self.server.path + "left")
        said = self.check(self.text("lag"), "--drain", "20s")
        self.assertIn("ok      stock 3, the ledger after customer 3: orders 3, left 0\n", said)

    def test_a_shop_that_sells_without_an_order(self):
        self.server.faults = ["no row"]
        self.assertIn("FAILED  stock 1, the ledger after customer 1\n        expected: 1 in [Orders]\n        came: 0\n"
                      "        change: a customer was told `sold`, and [Orders] does not show the order: look at its product and its "
                      "state; or the shop sells without an order in the ledger\n", self.check(self.text(), code=1))

    def test_a_shop_that_does_not_look_at_its_stock(self):
        self.server.faults = ["blind"]
        self.assertIn("change: nothing: the shop sells more than it has to one customer after the other, without a race",
                      self.check(self.text(), code=1))

    def test_a_key_that_the_shop_ignores(self):
        self.server.faults = ["keyless"]
        self.assertIn("expected: no second order\n        came: a second order with the same key\n", self.check(self.text(), code=1))
        said = self.check(self.text().replace("1 AS quantity, key", "1 AS quantity"))
        self.assertIn("DUPLICATE: a repeated {{key}} made a second order\n", said)

    def test_commands_that_fail(self):
        for command, reason in [("sh -c 'echo no such database >&2; exit 3'", "the command ended with exit code 3: no such database"),
                                ("/no/such/program", "cannot run the command"), ("yes", "the command printed more than 16 MiB"),
                                ("echo nonsense", "[Orders]: there is no column"), ("echo {", "[Orders], row 1: this is not JSON")]:
            with self.subTest(command):
                text = self.text(command=command)
                self.assertIn(reason, self.check(text, code=1))

    def test_a_command_that_never_ends_is_killed_with_its_group(self):
        pipe = tempfile.mkdtemp() + "/pipe"
        os.mkfifo(pipe)
        self.addCleanup(os.rmdir, os.path.dirname(pipe))
        self.addCleanup(os.unlink, pipe)
        said = self.check(self.text(command=f"sh -c 'cat {pipe} & cat {pipe}'"), "--timeout", "1s", code=1)
        self.assertIn("came: [Orders]: the command was killed after 1000 ms", said)
        with self.assertRaises(OSError):  # nobody reads it any more
            os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)

    def test_nobody_listens(self):
        said = self.check(self.text().replace(str(self.server.server_port), "1"), code=69)
        self.assertIn("change: the line `base`, or start the shop\n", said)

    def test_public_shops_need_a_word(self):
        said = self.check(self.text().replace("127.0.0.1:", "192.0.2.1:"), code=69)
        self.assertIn("192.0.2.1 is neither loopback nor private", said)

    def test_secrets_are_masked(self):
        os.environ["SHOP_KEY"] = "s3cret"
        self.addCleanup(os.environ.pop, "SHOP_KEY")
        text = self.text(command="sh -c 'echo no key {{SHOP_KEY}} >&2; exit 1'").replace("== setup", "env SHOP_KEY\n== setup")
        self.assertIn("came: [Orders]: the command ended with exit code 1: no key ***\n", self.check(text, code=1))

    def test_other_ends(self):
        done = subprocess.run([PROGRAM, "shop", "check", "/nowhere.shop"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (66, "loadgen: /nowhere.shop: No such file or directory\n"))
        self.check("shap X\n", code=64)

    def test_an_interrupt_ends_it(self):
        pipe = tempfile.mkdtemp() + "/pipe"
        os.mkfifo(pipe)
        self.addCleanup(os.rmdir, os.path.dirname(pipe))
        self.addCleanup(os.unlink, pipe)
        path = write(self, self.text(command=f"sh -c 'echo began >{pipe}; echo'"))
        with subprocess.Popen([PROGRAM, "shop", "check", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as check:
            with Path(pipe).open() as began:
                self.assertEqual(began.read(), "began\n")
            check.send_signal(signal.SIGINT)
            with Path(pipe).open() as began:  # of [Stock], if the signal came after [Orders]
                began.read()
            said = check.communicate(timeout=60)
        self.assertEqual(check.returncode, 130, said)


if __name__ == "__main__":
    unittest.main()
