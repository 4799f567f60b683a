"""loadgen --shop: a run against a shop of this test, which can hold its replies, sell wrongly, and die."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

from harness import BUILD, ROOT, wait_for
from junit import read_junit
from shop_server import ShopHandler, ShopServer
from test_live import Terminal

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
QUICK = ["--rate", "5000", "--late", "10m", "--drain", "20s"]  # a busy machine decides no verdict
SECRET = "s3cret-t0ken"
DROP = object()  # the connection ends without a reply

FILE = """shop Test shop
version 1.2
config two rows
base http://127.0.0.1:{port}
env TEST_TOKEN
== setup ==
POST /products
Authorization: {{{{TEST_TOKEN}}}}
{{"stock": {{{{stock}}}}}}
HTTP 201
[Captures]
product: jsonpath "$.id"
== prepare ==
POST /carts
{{"product": {{{{product}}}}, "n": {{{{n}}}}}}
HTTP 201
[Captures]
cart: jsonpath "$.cart"
== order ==
POST /orders
{{"product": {{{{product}}}}, "cart": {{{{cart}}}}, "key": "{{{{key}}}}"}}
HTTP *
[Captures]
order: jsonpath "$.order"
== outcome ==
sold     status == 201
soldout  status == 409
busy     status == 503
== ledger command sh ==
[Orders]
cat {folder}/{{{{product}}}}.orders
[Stock]
cat {folder}/{{{{product}}}}.stock
== teardown ==
DELETE /products/{{{{product}}}}
HTTP 200
"""


class Shop(ShopServer):
    """Sells from memory, and writes each product's books to files. `wrong`: all orders of a product read its count first."""

    def __init__(self, folder):
        self.folder, self.changed = folder, threading.Condition()
        self.asked, self.held, self.faults = [], set(), {}
        self.products, self.together, self.wrong = {}, 0, False
        super().__init__(Customer, host="")

    def count(self, what):
        return sum(asked == what for asked in list(self.asked))

    def wait(self, what, count=1):
        wait_for(f"{count} times {what}", lambda: self.count(what) >= count)

    def hold(self, what):
        self.held.add(what)

    def release(self):
        with self.changed:
            self.held.clear()
            self.changed.notify_all()

    def write(self, product):
        for name, text in ("orders", json.dumps(product["orders"])), ("stock", json.dumps({"left": product["left"]})):
            path = Path(self.folder, f"{product['id']}.{name}")
            path.with_suffix(".new").write_text(text)
            path.with_suffix(".new").replace(path)

    def answer(self, what, said, number):
        """A status and a reply, or DROP. A fault that returns None changes nothing."""
        fault = self.faults.get(what)
        fault = fault(number, said) if fault else None
        if fault is not None:
            return fault
        with self.changed:
            if what == "POST /products":
                product = {"id": len(self.products) + 1, "stock": said["stock"], "left": said["stock"], "orders": [], "reads": 0}
                self.products[product["id"]] = product
                self.write(product)
                return 201, {"id": product["id"]}
            if what == "POST /carts":
                return 201, {"cart": said["n"]}
            if what == "POST /orders":
                return self.order(self.products[said["product"]], said)
        return 200, {}

    def order(self, product, said):
        product["reads"] += 1
        left = product["left"]
        if product["stock"] >= 10:  # of a run; the check has 3 units
            self.changed.notify_all()
            self.changed.wait_for(lambda: product["reads"] >= self.together)
        known = [order for order in product["orders"] if order["key"] == said["key"]]
        if known:
            return 201, {"order": known[0]["order_id"]}
        left = left if self.wrong else product["left"]
        if left < 1:
            return 409, {}
        order = f"o-{product['id']}-{len(product['orders'])}"
        product["orders"].append({"order_id": order, "quantity": 1, "key": said["key"]})
        product["left"] = left - 1
        self.write(product)
        return 201, {"order": order}


class Customer(ShopHandler):
    def handle_any(self):
        shop, what = self.server, f"{self.command} /{self.path.split('/')[1]}"
        said = self.said()
        with shop.changed:
            shop.asked.append(what)
            number = shop.count(what)
            shop.hosts[self.headers["Host"].split(":")[0]] += what == "POST /orders"
            shop.changed.wait_for(lambda: what not in shop.held)
        answer = shop.answer(what, said, number)
        if answer is DROP:
            self.close_connection = True
            return
        self.reply(*answer)

    do_POST = do_DELETE = handle_any  # noqa: N815


class ShopRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.results = self.folder + "/results"
        self.env = dict(os.environ, TEST_TOKEN=SECRET)
        self.shop = self.open_shop()

    def open_shop(self):
        Path(self.folder, "books").mkdir(exist_ok=True)
        shop = Shop(self.folder + "/books")
        shop.hosts = collections.Counter()
        self.addCleanup(shop.end)
        self.addCleanup(shop.release)
        return shop

    def write(self, *changes, name="test.shop"):
        text = FILE.format(port=self.shop.server_port, folder=self.shop.folder)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = Path(self.folder, name)
        path.write_text(text)
        return str(path)

    def command(self, path, *args):
        return [PROGRAM, "--shop", path, "--results", self.results, "--customers", "60", "--stock", "20", *QUICK, *args]

    def run_shop(self, *args, path=None, code=0):
        command = self.command(path or self.write(), *args)
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=self.env, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        return done

    def checked(self, *changes):
        """The path of a file with a green check that is kept."""
        path = self.write(*changes)
        self.shop.together, self.shop.wrong = 1, False
        self.run_shop("--customers", "1", path=path, code=2)  # one customer proves nothing
        self.shop.asked.clear()
        self.shop.hosts.clear()
        return path

    def check_again(self, code):
        again = subprocess.run([PROGRAM, "check", str(self.latest())], capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stderr), (code, "loadgen: the same verdicts and counts as in summary.json\n"),
                         again.stdout)
        return again.stdout

    def latest(self):
        return Path(self.results, "latest")

    def summary(self):
        return json.loads((self.latest() / "summary.json").read_text())


class Verdicts(ShopRun):
    def test_a_right_shop_is_valid_and_a_check_of_its_folder_agrees(self):
        self.shop.together = 60
        done = self.run_shop("--repeat", "2", "--junit", self.folder + "/junit.xml", "--markdown", self.folder + "/note.md",
                             "--threshold", "oversell==0")
        self.assertIn("Test shop", done.stdout)
        self.assertIn("VALID", done.stdout)
        self.assertNotIn("VIOLATED", done.stdout)
        runs = [product for product in self.shop.products.values() if product["stock"] == 20]
        self.assertEqual([(len(product["orders"]), product["left"]) for product in runs], [(20, 0)] * 2)
        self.assertEqual(self.shop.count("POST /products"), self.shop.count("DELETE /products"))
        self.assertNotIn("failure", read_junit(self.folder + "/junit.xml")[1].values())
        self.assertIn("Test shop", Path(self.folder, "note.md").read_text())
        self.check_again(0)

    def test_a_wrong_shop_is_violated_and_a_check_of_its_folder_agrees(self):
        path = self.checked()
        self.shop.together, self.shop.wrong = 60, True
        done = self.run_shop("--threshold", "oversell==0", "--junit", self.folder + "/junit.xml", path=path, code=1)
        self.assertIn("VIOLATED: OVERSELL", done.stdout)
        self.assertEqual(len(self.shop.products[max(self.shop.products)]["orders"]), 60)
        self.assertIn("failure", read_junit(self.folder + "/junit.xml")[1].values())
        self.assertIn("VIOLATED: OVERSELL", self.check_again(1))
        self.assertRegex(os.readlink(self.latest()), r"\A\d{8}T\d{6}Z-Test-shop(-\d)?\Z")
        for expected, code in ("VIOLATED", 0), ("OVERSELL", 1), ("OVERSELL+LEAK", 0):
            self.run_shop("--expect", f"shop={expected}", path=path, code=code)

    def test_the_summary_has_the_shop_its_steps_and_what_was_not_asked(self):
        path = self.checked()
        self.shop.together = 60
        told = json.loads(self.run_shop("--output-format", "json", path=path).stdout)
        self.assertEqual(told, self.summary())
        self.assertEqual(told["shop"], {"name": "Test shop", "version": "1.2", "config": "two rows", "file": path,
                                        "bases": [f"http://127.0.0.1:{self.shop.server_port}"], "processes": 1, "customers": 60})
        strategy, = told["strategies"]
        steps = strategy["steps"]
        self.assertEqual([(step["name"], step["sent"], step["no_reply"]) for step in steps], [("POST /orders", 60, 0)])
        self.assertEqual(Path(path).read_text().splitlines()[steps[0]["line"] - 1], "POST /orders")
        self.assertEqual({"TWIN", "STALE"} & set(strategy["not_asked"]), {"TWIN", "STALE"})
        self.assertNotIn("OVERSELL", strategy["not_asked"])

    def test_customers_of_several_bases_take_turns(self):
        self.shop.together = 60
        base = f"base http://127.0.0.1:{self.shop.server_port}\n"
        path = self.checked((base, base + base.replace("127.0.0.1", "127.0.0.2") + base.replace("127.0.0.1", "127.0.0.3")))
        self.shop.together = 60
        done = self.run_shop(path=path)
        self.assertIn("3 processes: ", done.stdout)
        self.assertEqual(self.shop.hosts, {"127.0.0.1": 20, "127.0.0.2": 20, "127.0.0.3": 20})
        self.assertEqual(self.summary()["shop"]["processes"], 3)

class Checks(ShopRun):
    def test_a_red_check_sends_no_load_and_shows_the_failed_step(self):
        path = self.write(("soldout  status == 409", "busy     status == 409"))
        done = self.run_shop(path=path, code=2)
        self.assertIn("FAILED  stock 1, customer 2 orders\n", done.stderr)
        self.assertIn("A run can judge nothing until each step is ok.\n", done.stderr)
        self.assertTrue(done.stderr.endswith(f"loadgen: no load was sent: the check of {path} failed, so a verdict would prove "
                                             "nothing\n"), done.stderr)
        self.assertEqual((done.stdout, self.shop.count("POST /products"), self.shop.count("DELETE /products")), ("", 1, 1))
        self.assertFalse(self.latest().exists())
        self.run_shop(path=path, code=2)
        self.assertEqual(self.shop.count("POST /products"), 2)  # a red one is not kept

    def test_mistakes_of_the_call_have_their_own_codes(self):
        base = f"127.0.0.1:{self.shop.server_port}"
        for code, said, change in [(64, "test.shop:", ("HTTP 201", "HTTP ok")), (69, "or start the shop", (base, "127.0.0.1:1")),
                                   (64, "the environment has no TEST_TOKENS", ("env TEST_TOKEN", "env TEST_TOKENS")),
                                   (64, "the command ended with exit code 3", ("version 1.2", "run a exit 3"))]:
            with self.subTest(said):
                changes = [change] if "TOKENS" not in said else [("TEST_TOKEN", "TEST_TOKENS")]
                self.assertIn(said, self.run_shop(path=self.write(*changes), code=code).stderr)
                self.assertFalse(self.latest().exists())
        done = self.run_shop(path=self.folder + "/no.shop", code=66)
        self.assertEqual(done.stderr, f"loadgen: {self.folder}/no.shop: No such file or directory\n")

    def test_a_green_check_is_kept_for_its_text_and_its_base(self):
        path = self.checked()
        self.run_shop("--customers", "1", path=path, code=2)
        self.assertEqual(self.shop.count("POST /products"), 1)
        Path(path).write_text(Path(path).read_text() + "# another text\n")
        self.run_shop("--customers", "1", path=path, code=2)
        self.assertEqual(self.shop.count("POST /products"), 1 + 4)
        host = [("base http://127.0.0.1", "env TEST_HOST\nbase http://{{TEST_HOST}}")]
        for name, products in ("127.0.0.1", 5 + 4), ("127.0.0.1", 9 + 1), ("127.0.0.2", 10 + 4):
            self.env["TEST_HOST"] = name
            self.run_shop("--customers", "1", path=self.write(*host), code=2)
            self.assertEqual(self.shop.count("POST /products"), products)

    def test_without_results_no_check_is_kept(self):
        path = self.write()
        command = [argument for argument in self.command(path, "--no-results") if argument not in ("--results", self.results)]
        for products in 4, 8:
            done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=180)
            self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
            self.assertEqual(self.shop.count("POST /products"), products)
        self.assertFalse(Path(self.results).exists())

    def test_a_kept_check_that_is_old_damaged_or_of_tomorrow_does_not_count(self):
        path, products = self.checked(), 0
        kept, = Path(self.results, ".checks").glob("*.json")
        good = json.loads(kept.read_text())
        for text in ["", "[]", "{}", json.dumps({**good, "order_ns": -1}), json.dumps({**good, "order_ns": "9"}),
                     json.dumps({**good, "checked_us": good["checked_us"] - 25 * 3600 * 10**6}),
                     json.dumps({**good, "checked_us": good["checked_us"] + 3600 * 10**6})]:
            with self.subTest(text):
                kept.write_text(text)
                self.run_shop("--customers", "1", path=path, code=2)
                products += 4
                self.assertEqual(self.shop.count("POST /products"), products)

    def test_the_rate_is_three_times_that_of_orders_in_turn(self):
        path = self.checked()
        kept, = Path(self.results, ".checks").glob("*.json")
        good = json.loads(kept.read_text())
        for order_ms, rate in (100, 30), (700, 4), (5000, 1):
            kept.write_text(json.dumps({**good, "order_ns": order_ms * 10**6}))
            for auto in [], ["--rate", "auto"]:
                command = [PROGRAM, "--shop", path, "--results", self.results, "--customers", "2", *auto]
                done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=180)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(self.summary()["settings"]["rate"], rate)

    def test_duration_and_stages_say_how_many_customers_there_are(self):
        path = self.checked()
        for args, customers in (["--duration", "10ms"], 50), (["--stages", "1s:0..60"], 30):
            command = [PROGRAM, "--shop", path, "--results", self.results, "--late", "10m", "--arrival", "constant", *args,
                       *(["--rate", "5000"] if "--duration" in args else [])]
            done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=180)
            self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
            self.assertEqual(self.summary()["shop"]["customers"], customers)


class Doubts(ShopRun):
    """Each of these runs is INCONCLUSIVE, and a check of its folder agrees."""

    def doubt(self, *changes, sentence, faults, args=()):
        path = self.checked(*changes)
        self.shop.together, self.shop.faults = 0, faults
        done = self.run_shop(*args, path=path, code=2)
        self.assertIn("INCONCLUSIVE", done.stdout)
        said = " ".join(done.stdout.split())
        self.assertRegex(said, sentence)
        self.assertRegex(" ".join(self.check_again(2).split()), sentence)
        self.assertNotIn(SECRET, (self.latest() / "report.html").read_text())
        self.assertNotIn(SECRET, (self.latest() / "history.ndjson").read_text())
        self.assertNotRegex(done.stdout + done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]")
        return done

    def test_replies_that_no_rule_matches(self):
        hostile = f"<b>\x1b[2J {SECRET} \u202e</b>"
        self.doubt(sentence=r"no rule matches \d+ of the replies; the first, with status 418: line \d+: {{order}} found nothing in the "
                         r"reply: <b>\?\[2J \*\*\* \S+</b>; add a rule for it",
                   faults={"POST /orders": lambda number, _: (418, hostile) if number % 2 else None})

    def test_sold_without_an_id(self):
        def sell(number, said):
            if number != 3:
                return None
            with self.shop.changed:
                self.shop.order(self.shop.products[said["product"]], said)
            return 201, {}

        self.doubt(sentence="1 customer was told sold, without an id of the order", faults={"POST /orders": sell})

    def test_customers_that_could_not_be_prepared(self):
        self.doubt(sentence=r"2 customers could not be prepared; the first: line \d+: the reply has status 500, and not 201",
                   faults={"POST /carts": lambda _, said: (500, {}) if said["n"] in (5, 6) else None})

    def test_a_ledger_that_never_rests(self):
        self.doubt((f"cat {self.shop.folder}/{{{{product}}}}.stock",
                    f"echo >>{self.folder}/reads; [ ! -f {self.folder}/restless ] && cat {self.shop.folder}/{{{{product}}}}.stock || "
                    f"""printf '{{"left": %d}}' $(wc -l <{self.folder}/reads)"""),
                   sentence=r"the ledger still changed 2\d\d\d ms after the last reply, so it proves nothing", args=["--drain", "2s"],
                   faults={"POST /orders": lambda *_: Path(self.folder, "restless").touch()})

    def test_a_ledger_that_had_no_time_to_rest(self):
        self.doubt(sentence="the ledger may still change: it was not seen to stay the same for 2000 ms; a longer --drain", args=["--drain", "1s"],
                   faults={"POST /orders": lambda number, _: DROP if number == 60 else None})

    def test_a_ledger_that_ends(self):
        self.doubt((f"cat {self.shop.folder}/{{{{product}}}}.stock",
                    f"[ ! -f {self.folder}/gone ] || {{ echo no {{{{TEST_TOKEN}}}} >&2; exit 3; }}; cat {self.shop.folder}/{{{{product}}}}.stock"),
                   sentence=r"the command ended with exit code 3: no \*\*\*",
                   faults={"POST /orders": lambda *_: Path(self.folder, "gone").touch()})


class Trouble(ShopRun):
    def test_no_secret_is_in_any_file(self):
        self.shop.together = 60
        base = f"base http://127.0.0.1:{self.shop.server_port}"
        path = self.write(("env TEST_TOKEN\n", ""), (base, "env TEST_TOKEN\n" + base.replace("//", "//user:{{TEST_TOKEN}}@") + "\nrun told echo told {{TEST_TOKEN}}\nset more <{{TEST_TOKEN}}>"),
                          ("version 1.2", ""), ("config two rows", ""), ("== setup", "version {{told}}\nconfig {{more}}\n== setup"))
        done = self.run_shop("--output-format", "json", path=path)
        self.assertIn("told ***", done.stdout)
        self.assertIn("<***>", done.stdout)
        for file in [file for file in Path(self.results).rglob("*") if file.is_file()]:
            self.assertNotIn(SECRET, file.read_text(), file)

    def test_an_address_of_a_ledger_that_is_no_address(self):
        path = self.write(("== ledger command sh ==", "== ledger postgres {{TEST_TOKEN}} =="))
        self.assertRegex(self.run_shop(path=path, code=64).stderr, r"test.shop:\d+: libpq cannot read the address of the database\n\Z")

    def test_a_shop_that_dies_in_mid_sale(self):
        def die(number, _):
            if number <= 30:
                return None
            if number == 31:
                self.shop.end()
            return DROP

        path = self.checked()
        self.shop.faults = {"POST /orders": die}
        command = self.command(path, "--timeout", "20s")
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=180)
        self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
        strategy, = self.summary()["strategies"]
        self.assertEqual(strategy["sold"], 20, strategy)
        self.assertIn("loadgen: teardown: line 3", done.stderr)
        self.assertRegex(done.stderr, r"loadgen: \d+ orders got no reply to a request; the first: line 20: no reply: ")



    def test_a_terminal_shows_the_steps_of_the_check(self):
        self.shop.hold("POST /orders")
        terminal = Terminal(SimpleNamespace(settings={}), *self.command(self.write())[1:], TEST_TOKEN=SECRET)
        self.addCleanup(terminal.close)
        terminal.wait_for(f"loadgen: checking {self.folder}/test.shop first, with one order after the other\n"
                          "stock 1, prepare of customer 2")
        self.shop.release()
        self.assertIn(terminal.end(), (0, 2), terminal.screen.text)
        self.assertNotIn("stock 1", terminal.screen.text)

    def test_a_reason_stays_on_the_terminal(self):
        path = self.checked()
        for step, reason in [("POST /products", "loadgen: setup: line 7: the reply has status 500, and not 201"),
                             ("POST /carts", "loadgen: prepare: no customer could be prepared: line 14: the reply has status 500")]:
            with self.subTest(step):
                self.shop.faults = {step: lambda *_: (500, {})}
                terminal = Terminal(SimpleNamespace(settings={}), *self.command(path)[1:], columns=200, TEST_TOKEN=SECRET)
                self.addCleanup(terminal.close)
                self.assertEqual(terminal.end(), 2, terminal.screen.text)
                self.assertIn(reason, terminal.screen.text)
                self.assertNotIn("0/60", terminal.screen.text)

    def test_a_missed_threshold_stops_the_orders(self):
        path = self.checked()
        self.shop.together = 0
        self.shop.faults = {"POST /orders": lambda number, _: self.shop.hold("POST /orders") if number == 30 else None}
        done = subprocess.run(self.command(path, "--threshold", "p(99)<1us", "--abort-on-fail", "--json-progress"), capture_output=True,
                              text=True, env=self.env, timeout=180)
        self.assertIn(done.returncode, (2, 99), done.stdout + done.stderr)
        self.assertIn("MISSED", done.stdout)
        self.assertTrue(self.summary()["strategies"][0]["rounds"][0]["is_aborted"])
        self.assertEqual(self.shop.count("DELETE /products"), 1)

    def test_a_full_disk_for_results(self):
        path = self.checked()
        self.shop.together = 60
        limit = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh"]  # a small file is enough for the kept check
        done = subprocess.run([*limit, *self.command(path)], capture_output=True, text=True, env=self.env, timeout=180)
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertIn("VALID", done.stdout)
        self.assertEqual(self.shop.count("DELETE /products"), 1)

    def test_a_product_with_rows_of_before_the_round(self):
        path = self.checked()
        self.shop.faults = {"POST /products": lambda *_: (201, {"id": 1})}  # the one that was sold out
        done = self.run_shop("--drain", "100ms", path=path, code=2)
        self.assertIn("loadgen: the ledger of the new product has 1 orders and 0 units left, and not 0 and 20\n", done.stderr)
        self.assertEqual((done.stdout, self.shop.count("POST /orders")), ("", 0))

    def test_a_setup_that_finds_nobody(self):
        path = self.checked()
        self.shop.end()
        done = self.run_shop(path=path, code=69)
        self.assertRegex(done.stderr, r"\Aloadgen: setup: line 7: no reply: Failed to connect .*\n\Z")
        self.assertEqual(len(list(Path(self.results).glob("2*"))), 1)  # that of checked()


class Interrupts(ShopRun):
    """The shop holds the reply of a step when the signal comes."""

    def start(self, path, *args, session=False):
        run = subprocess.Popen(self.command(path, "--no-progress", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=self.env, stdin=subprocess.DEVNULL, start_new_session=session)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def end(self, run, code=130):
        said = run.communicate(timeout=60)
        self.assertEqual(run.returncode, code, said)
        return said

    def test_it_ends_with_130_and_tears_down(self):
        for what in signal.SIGINT, signal.SIGTERM:
            path = self.checked()
            for step in "POST /products", "POST /carts":
                with self.subTest(step, signal=what):
                    self.shop.asked.clear()
                    self.shop.hold(step)
                    run = self.start(path)
                    self.shop.wait(step)
                    run.send_signal(what)
                    out, err = self.end(run)
                    self.shop.release()
                    self.assertEqual(out, "")
                    self.assertIn("loadgen: interrupted: tidying up the shop; interrupt again to stop at once\n", err)
                    if step == "POST /carts":
                        self.shop.wait("DELETE /products")

    def test_in_the_check(self):
        for step in "POST /products", "POST /carts", "POST /orders", "DELETE /products":
            with self.subTest(step):
                self.shop.asked.clear()
                self.shop.hold(step)
                run = self.start(self.write())
                self.shop.wait(step)
                run.send_signal(signal.SIGINT)
                if step == "DELETE /products":
                    wait_for("the signal", lambda run=run: not pending(run.pid, signal.SIGINT))
                    self.shop.release()
                self.assertEqual(self.end(run), ("", "loadgen: interrupted: tidying up the shop; interrupt again to stop at once\n"))
                self.shop.release()
                made = step != "POST /products"  # no reply, so nobody knows the product
                self.assertEqual((self.shop.count("POST /products"), self.shop.count("DELETE /products")), (1, made))

    def test_a_terminal_sends_it_to_commands_too(self):
        pipe = self.folder + "/pipe"
        os.mkfifo(pipe)
        path = self.checked(("version 1.2", f"run built [ ! -f {self.folder}/slow ] || cat {pipe}; echo 7\nversion {{{{built}}}}"))
        Path(self.folder, "slow").touch()
        other = Path(path).read_text() + "# without a check\n"
        for text in Path(path).read_text(), other:
            Path(path).write_text(text)
            run = self.start(path, session=True)
            with open(pipe, "w"):  # opens when the command reads
                os.killpg(run.pid, signal.SIGINT)
                self.end(run)
            self.assertEqual(self.shop.count("POST /products"), 0)

    def test_in_a_run_after_its_own_check(self):
        self.shop.faults = {"POST /products": lambda number, _: self.shop.hold("POST /orders") if number == 4 else None}
        run = self.start(self.write())
        self.shop.wait("POST /orders", 8 + 60)
        run.send_signal(signal.SIGINT)
        out, _ = self.end(run)
        self.assertIn("interrupted", out)
        self.assertEqual(self.shop.count("DELETE /products"), 4)

    def test_among_the_orders_what_ran_is_judged(self):
        path = self.checked()
        self.shop.together = 0
        self.shop.faults = {"POST /orders": lambda number, _: self.shop.hold("POST /orders") if number == 30 else None}
        run = self.start(path)
        self.shop.wait("POST /orders", 60)
        run.send_signal(signal.SIGINT)
        out, _ = self.end(run)
        self.assertIn("interrupted", out)
        self.assertTrue((self.latest() / "summary.json").exists())
        strategy, = self.summary()["strategies"]
        self.assertEqual(self.summary()["exit_code"], 130)
        self.assertGreater(strategy["outcomes"]["unknown"], 0)
        self.assertEqual(self.shop.count("DELETE /products"), 1)

    def test_while_it_judges(self):
        pipe = self.folder + "/pipe"
        os.mkfifo(pipe)
        path = self.checked((f"cat {self.shop.folder}/{{{{product}}}}.stock",
                             f"[ ! -f {self.folder}/held ] || cat {pipe} >&2; cat {self.shop.folder}/{{{{product}}}}.stock"))
        self.shop.faults = {"POST /orders": lambda *_: Path(self.folder, "held").touch()}
        run = self.start(path)
        with open(pipe, "w"):  # opens when the query reads
            run.send_signal(signal.SIGINT)
            wait_for("the signal", lambda: not pending(run.pid, signal.SIGINT))
            Path(self.folder, "held").unlink()
        self.end(run)
        self.assertTrue((self.latest() / "summary.json").exists())
        self.assertEqual(self.shop.count("DELETE /products"), 1)

    def test_in_the_teardown_the_verdict_stands(self):
        path = self.checked()
        self.shop.together = 60
        self.shop.hold("DELETE /products")
        run = self.start(path, "--repeat", "2")
        self.shop.wait("DELETE /products")
        run.send_signal(signal.SIGINT)
        wait_for("the signal", lambda: not pending(run.pid, signal.SIGINT))
        self.shop.release()
        out, _ = self.end(run)
        self.assertIn("VALID", out)
        self.assertEqual((self.shop.count("POST /products"), self.shop.count("DELETE /products")), (1, 1))

    def test_a_second_signal_ends_it_at_once(self):
        path = self.checked()
        for step in "POST /carts", "DELETE /products":
            with self.subTest(step):
                self.shop.asked.clear()
                self.shop.together = 60
                self.shop.hold("POST /carts" if step == "POST /carts" else step)
                self.shop.hold("DELETE /products")
                run = self.start(path)
                self.shop.wait(step)
                run.send_signal(signal.SIGINT)
                self.shop.wait("DELETE /products")
                wait_for("the signal", lambda run=run: not pending(run.pid, signal.SIGINT))
                run.send_signal(signal.SIGTERM)
                self.end(run)
                self.shop.release()


def pending(pid, number):
    """Whether the kernel still keeps the signal, or the program still sleeps on it."""
    status = Path(f"/proc/{pid}/status").read_text()
    masks = [int(mask, 16) for mask in re.findall(r"^(?:ShdPnd|SigPnd):\s*(\w+)", status, re.M)]
    return any(mask >> (number - 1) & 1 for mask in masks)


if __name__ == "__main__":
    unittest.main()
