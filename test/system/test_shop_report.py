"""What a run with --shop shows: on the terminal, to programs, in the files of a pull request, and on the page."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import BUILD, ROOT
from shop_server import ShopHandler, ShopServer
from test_page import look

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
SCHEMA = json.loads((ROOT / "loadgen/report/summary.schema.json").read_text())
CUSTOMERS, STOCK, LEFT = 60, 40, 10
SECRET = "a/secret of 'the' shop"
SUBJECT = "Späti <b> 7.1, 2 processes"
SENTENCE = f"{SUBJECT}: sold 60 of 40 units, the shop says that 10 are left, and 20 customers hold an order for nothing"
FILE = """shop Späti <b>
base http://127.0.0.1:{port}
base http://localhost:{port}
env SHOP_SECRET
run built echo 7.1
version {{{{built}}}}
config one lock, password {{{{SHOP_SECRET}}}}
== setup ==
POST /products
{{"stock": {{{{stock}}}}}}
HTTP 200
== prepare ==
POST /carts
{{"n": {{{{n}}}}}}
HTTP 200
== order ==
POST /address
{{"n": {{{{n}}}}}}
HTTP *
== commit ==
POST /pay
{{"n": {{{{n}}}}}}
HTTP *
[Captures]
order: jsonpath "$.id"
== outcome ==
sold     jsonpath "$.id" exists
soldout  status == 409
== ledger command sh ==
[Orders]
cat {folder}/orders
[Stock]
cat {folder}/stock
"""


class Shop(ShopHandler):
    """Right for the small stocks of the check. Of a larger one it counts each second sale only, and never says no."""

    def do_POST(self):  # noqa: N802
        with self.server.lock:
            status, reply = self.server.answer(self.path, self.said())
        self.reply(status, reply)


class Server(ShopServer):
    def __init__(self, folder):
        super().__init__(Shop)
        self.folder, self.stock, self.orders = folder, 0, []

    def answer(self, path, said):
        if path == "/products":
            self.stock, self.orders = said["stock"], []
        elif path == "/pay" and self.left() == 0:
            return 409, {}
        elif path == "/pay":
            self.orders.append(f"o-{said['n']}")
        self.keep()
        return 200, {"id": self.orders[-1]} if path == "/pay" else {}

    def left(self):
        return self.stock - len(self.orders) // (1 if self.stock < STOCK else 2)

    def keep(self):
        (self.folder / "orders").write_text("order_id,quantity\n" + "".join(f"{order},1\n" for order in self.orders))
        (self.folder / "stock").write_text(f'{{"left": {self.left()}}}\n')


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sale-shop-report-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        server = Server(cls.folder)
        cls.addClassCleanup(server.end)
        (cls.folder / "a.shop").write_text(FILE.format(port=server.server_port, folder=cls.folder))
        cls.base = f"http://127.0.0.1:{server.server_port}"
        cls.done = cls.loadgen("--shop", "a.shop", "--customers", str(CUSTOMERS), "--stock", str(STOCK), "--rate", "200", "--results", "results",
                               "--json-progress", "--markdown", "digest.md", "--junit", "junit.xml")
        if cls.done.returncode != 1:
            raise AssertionError(cls.done.stdout + cls.done.stderr)
        cls.run_folder = (cls.folder / "results/latest").resolve(strict=True)

    @classmethod
    def loadgen(cls, *args):
        env = {"PATH": os.environ["PATH"], "COLUMNS": "80", "SHOP_SECRET": SECRET}
        return subprocess.run([PROGRAM, *args], cwd=cls.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def test_the_report_names_the_shop_and_fits_a_terminal(self):
        told = " ".join(self.done.stdout.split())
        for part in [f"shop: {SUBJECT}: {self.base}, http://localhost:", "settings of the shop: one lock, password *** 60 customers at 200/s",
                     "stock 40, by a.shop schedule: ", f" {SENTENCE} answers ",
                     f" {SUBJECT}: VIOLATED: OVERSELL, LEAK one round proves that it happens, not how often not asked: TWIN",
                     "exit code 1: anomalies were found: Späti <b>"]:
            self.assertIn(part, told)
        for word in ("strategy", "expected", "audit", "cheapest", "round trip", "--work", "\x1b"):
            self.assertNotIn(word, self.done.stdout)
        lines = self.done.stdout.splitlines()
        self.assertEqual([line for line in lines if len(line) > 80], [])
        self.assertIn("VIOLATED OVERSELL LEAK", "\n".join(lines[-24:]))

    def test_the_steps_have_a_line_each(self):
        self.assertRegex(self.done.stdout, r"\nstep +sent +p50 +p99 +max\n17: POST /address +60 [^\n]+s\n21: POST /pay +60 [^\n]+s\n")

    def test_programs_see_how_many_customers_are_prepared(self):
        lines = [json.loads(line) for line in self.done.stderr.splitlines() if line.startswith("{")]
        phases = [line["phase"] for line in lines]
        self.assertEqual(phases, sorted(phases, key=["preparing", "sending", "waiting", "judging"].index))
        self.assertEqual((phases[0], lines[0]["customers"]), ("preparing", CUSTOMERS))
        prepared = [line["prepared"] for line in lines]
        self.assertEqual(prepared, sorted(prepared))
        self.assertEqual(prepared[-1], CUSTOMERS)
        self.assertEqual((lines[-1]["verdict"], lines[-1]["strategy"]), ("VIOLATED OVERSELL LEAK", "Späti <b>"))

    def test_the_summary_keeps_to_its_schema(self):
        summary = json.loads((self.run_folder / "summary.json").read_text())
        jsonschema.Draft202012Validator(SCHEMA).validate(summary)
        self.assertEqual({name: summary["shop"][name] for name in ("name", "version", "config", "processes", "customers")},
                         {"name": "Späti <b>", "version": "7.1", "config": "one lock, password ***", "processes": 2, "customers": CUSTOMERS})
        sold = summary["strategies"][0]
        self.assertEqual(sold["sentence"], SENTENCE)
        self.assertEqual([(step["name"], step["sent"], step["no_reply"]) for step in sold["steps"]],
                         [("POST /address", CUSTOMERS, 0), ("POST /pay", CUSTOMERS, 0)])
        self.assertEqual(sold["rounds"][0]["steps"], sold["steps"])
        self.assertLessEqual({"TWIN", "STALE"}, sold["not_asked"].keys())

    def test_the_history_is_judged_and_told_alike(self):
        again = self.loadgen("check", f"results/{self.run_folder.name}")
        self.assertIn("the same verdicts and counts as in summary.json", again.stderr)
        self.assertEqual(again.stdout, self.done.stdout)

    def test_a_pull_request_sees_the_shop(self):
        digest, tests = ((self.folder / name).read_text() for name in ("digest.md", "junit.xml"))
        self.assertIn(f"- `{SUBJECT}`{SENTENCE[len(SUBJECT):]}; one round proves that it happens, not how often\n", digest)
        self.assertIn("- shop: `Späti <b> 7.1`\n- base URLs: `2 processes: ", digest)
        self.assertIn('<property name="shop" value="Späti &lt;b&gt;"/>', tests)

    def test_no_secret_is_kept(self):
        for path in [*self.run_folder.iterdir(), self.folder / "digest.md", self.folder / "junit.xml"]:
            self.assertNotIn(SECRET, path.read_text(), path)
        self.assertNotIn(SECRET, self.done.stdout + self.done.stderr)

    def test_the_page_shows_the_shop_and_its_steps(self):
        found = look(self.run_folder / "report.html")[0]
        self.assertEqual((found["problems"], found["clipped"], found["overflow"]), ([], [], {"1280": 0, "390": 0}))
        self.assertTrue(found["cards"][0].startswith(f"{SUBJECT}\n"), found["cards"])
        self.assertIn(SENTENCE[len(SUBJECT) + 2:], found["cards"][0])
        self.assertEqual([step["name"].split("\n")[0] for step in found["steps"]], ["POST /address", "POST /pay"])
        self.assertIn("The orders cross the dashed line at ", found["text"])
        self.assertIn(f"In the end 20 too many were sold, and the shop said that {LEFT} were left.", found["text"])
        self.assertNotIn("trategy", found["text"])


if __name__ == "__main__":
    unittest.main()
