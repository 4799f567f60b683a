"""The files in shops/: each buys in its shop, says soldout where it must, and its ledger queries find the order."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import vendure
from harness import BUILD, PORT_BASE, ROOT, SystemTest, wait_for

STUDENTS = {"python": ([sys.executable], ["shop.py", "with_lock.py", "cured.py"], 9801, "set db .run/student-python.db"),
            "node": (["node"], ["shop.js", "with-lock.js", "cured.js"], 9811, "set data .run/student-node"),
            "java": (["java"], ["Shop.java wrong", "Shop.java lock", "Shop.java cured"], 9821, "set data .run/student-java"),
            "go": ([], ["shop.go wrong", "shop.go lock", "shop.go cured"], 9831, "set data .run/student-go")}


class ShopFile:
    """A shop file, at ports and with a strategy of this test."""

    def __init__(self, case, path, *replaced):
        self.case, self.text = case, (ROOT / "shops" / path).read_text()
        moved = self.text
        for old, new in replaced:
            case.assertIn(old, moved)
            moved = moved.replace(old, new)
        with tempfile.NamedTemporaryFile("w", suffix=".shop", delete=False) as file:
            file.write(moved)
        self.path = file.name
        case.addCleanup(os.unlink, self.path)

    def order(self, stock, env=None):
        return self.case.stack.loadgen("shop", "order", self.path, "--stock", str(stock), env=env)

    def rows(self, database, query, product):
        """The rows of a query of the ledger, by column."""
        text = re.search(rf"^\[{query}\]\n(.*?)\n(?:\[|==|\Z)", self.text, re.M | re.S).group(1)
        filled = text.replace("{{product}}", f"'{product}'")
        rows = self.case.stack.sql(database, f"SELECT row_to_json(q) FROM ({filled}) q")
        return [json.loads(row[0]) for row in rows]


class OwnShops(SystemTest):
    def file(self, path):
        base = self.stack.port("order-svc")
        text = (ROOT / "shops" / path).read_text()
        ports = [(f":{8000 + i}\n", f":{base + i}\n") for i in range(3)]
        return ShopFile(self, path, ("set strategy none", "set strategy atomic"), *(pair for pair in ports if pair[0] in text))

    def test_each_file_sells_a_unit_and_finds_it(self):
        for path in ["order-svc/order-svc.shop", "article/place-an-order.shop", "article/minus-inventory.shop"]:
            with self.subTest(path):
                file = self.file(path)
                done = file.order(3)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                product = self.stack.sql("inventory", "SELECT product_id FROM product ORDER BY created_at DESC LIMIT 1")[0][0]
                orders, stock = file.rows("inventory", "Orders", product), file.rows("inventory", "Stock", product)
                self.assertEqual([order["quantity"] for order in orders], [1])
                self.assertEqual([(row["initial"], row["left"]) for row in stock], [(3, 2)])
                captured = re.search(r"^= order: (\S+)$", done.stdout, re.M)
                self.assertEqual(captured is None, "minus" in path)
                if captured:
                    self.assertEqual(orders[0]["order_id"], captured.group(1))

    def test_each_file_knows_the_word_for_no(self):
        for path in ["order-svc/order-svc.shop", "article/place-an-order.shop", "article/minus-inventory.shop"]:
            with self.subTest(path):
                done = self.file(path).order(0)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"\* order: soldout, by the rule in line \d+\n")


class StudentShops(unittest.TestCase):
    """Each student's shop: wrong, with a lock in the process, and cured. Those of a language share a database, so one check of a shop
    file is kept for all that use it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    @contextlib.contextmanager
    def selling(self, language, file, processes):
        """Runs processes of a shop on one database. Gives a shop file for them."""
        starter, _, port, place = STUDENTS[language]
        program, *way = file.split()
        program = ROOT / f"shops/student-{language}" / program
        if language == "go":
            built = f"{self.folder}/shop"
            subprocess.run(["go", "build", "-o", built, program], check=True)
            program = built
        ports = [PORT_BASE + 51 + i for i in range(processes)]
        with contextlib.ExitStack() as stack:
            data = f"{self.folder}/{language}"
            for own in ports:
                child = subprocess.Popen([*starter, program, str(own), data, *way])
                stack.callback(child.wait)
                stack.callback(child.kill)
                wait_for(file, lambda own=own, child=child: self.listens(own) or child.poll() is not None)
                self.assertIsNone(child.poll(), file)
            yield ShopFile(self, f"student-{language}/student.shop", (place, f"{place.rpartition(' ')[0]} {data}"),
                           *((f"127.0.0.1:{port + i}", f"127.0.0.1:{own}") for i, own in enumerate(ports)),
                           *[("# base", "base")] * (processes - 1),
                           *[(" python3 ", f" {sys.executable} -IS ")] * (language == "python"))  # it starts in half the time

    @staticmethod
    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def loadgen(self, *args):
        return subprocess.run([ROOT / BUILD / "bin/loadgen", *args], cwd=ROOT, env=dict(os.environ, LOADGEN_NO_RESULTS="0"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def test_a_run_finds_the_wrong_ones(self):
        """A sale takes 50 ms, and at 100 a second five run side by side: with 100 customers for 25 units this is no matter of luck."""
        for language in STUDENTS:
            wrong, with_lock, cured = STUDENTS[language][1]
            runs = [(with_lock, 1, True), (with_lock, 2, False)]
            if language in ("python", "node"):  # the README's commands, which a test pastes, are a wrong and a cured run of each
                runs += [(wrong, 1, False), (wrong, 2, False), (cured, 1, True), (cured, 2, True)]
            for file, processes, is_right in runs:
                with self.subTest(file=file, processes=processes), self.selling(language, file, processes) as shop:
                    done = self.loadgen("--shop", shop.path, "--rate", "100", "--customers", "100", "--stock", "25",
                                        "--results", f"{self.folder}/results", "--output-format", "json")
                    self.assertEqual(done.returncode, 0 if is_right else 1, done.stdout + done.stderr)
                    shop, = json.loads(done.stdout)["strategies"]
                    found = {anomaly["name"]: anomaly["count"] for anomaly in shop["anomalies"]}
                    self.assertEqual((shop["verdict"], "OVERSELL" in found), ("VALID", False) if is_right else ("VIOLATED", True), found)
                    if is_right:
                        self.assertEqual((shop["outcomes"]["sold"], shop["outcomes"]["sold_out"]), (25, 75))

    def test_each_passes_the_check_because_nobody_races(self):
        for language, file in [(language, file) for language in STUDENTS for file in STUDENTS[language][1]]:
            with self.subTest(file), self.selling(language, file, processes=2) as shop:
                done = self.loadgen("shop", "check", shop.path)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("OVERSELL, LEAK\n  UNDERSELL, EARLY-SOLD-OUT\n  GHOST\n", done.stdout)


class Vendure(SystemTest):
    def start(self):
        """An empty Vendure in the stack's Postgres."""
        vendure.install(self)
        port = self.stack.port("order-svc") + 50
        password = self.stack.settings["POSTGRES_PASSWORD"]
        database = f"postgresql://postgres:{password}@127.0.0.1:{self.stack.port('postgres')}/vendure"
        env = dict(os.environ, VENDURE_DB=database, PORT=str(port))
        self.stack.sql("postgres", "CREATE DATABASE vendure")
        done = subprocess.run(["node", "server.js", "populate"], cwd=vendure.FOLDER, env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        server = subprocess.Popen(["node", "server.js"], cwd=vendure.FOLDER, env=env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def answers():
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/health").status == 200
            except urllib.error.URLError:
                return server.poll() is not None

        wait_for("Vendure", answers, seconds=120)
        return port, {"VENDURE_DB": database}

    def test_a_guest_pays_for_a_unit_and_the_ledger_has_it(self):
        port, env = self.start()
        file = ShopFile(self, "vendure/vendure.shop", (":9701\n", f":{port}\n"))
        done = file.order(3, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        product = re.findall(r"^= product: (\d+)$", done.stdout, re.M)[-1]
        orders, stock = file.rows("vendure", "Orders", product), file.rows("vendure", "Stock", product)
        self.assertEqual([(order["quantity"], order["reserved"]) for order in orders], [(1, 1)])
        self.assertEqual(orders[0]["order_id"], re.search(r"^= order: (\S+)$", done.stdout, re.M).group(1))
        self.assertEqual([(row["on_hand"], row["left"]) for row in stock], [(3, 2)])


if __name__ == "__main__":
    unittest.main()
