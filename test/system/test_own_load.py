"""A load that another program sent: docs/history.md as written, its examples for other tools, and the schema of all lines."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from collections import Counter
from pathlib import Path

import jsonschema

import edn
from harness import BUILD, ROOT, SystemTest

SCHEMA = json.loads((ROOT / "loadgen/results/history.schema.json").read_text())
SUMMARY = json.loads((ROOT / "loadgen/report/summary.schema.json").read_text())
DOC = (ROOT / "docs/history.md").read_text()
ANY = jsonschema.Draft202012Validator(SCHEMA)
LOAD, RUN = (ANY.evolve(schema={"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}) for name in ("load_line", "run_line"))


def blocks(language):
    """The code blocks of the document in this language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", DOC)


class Folder(unittest.TestCase):
    def setUp(self):
        self.maxDiff = None
        self.folder = Path(tempfile.mkdtemp(prefix="sale-own-load-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.file = self.folder / "my-load.ndjson"

    def check(self, text, *args, code):
        """Judges the text as a file, without any server."""
        self.file.write_text(text)
        done = subprocess.run([str(ROOT / BUILD / "bin/loadgen"), "check", str(self.file), *args], cwd=self.folder,
                              env={"PATH": os.environ["PATH"], "COLUMNS": "80"}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Document(Folder):
    def test_the_example_has_the_verdict_that_the_document_prints(self):
        done = self.check(blocks("json")[0], code=1)
        self.assertIn(blocks("text")[0], done.stdout)
        self.assertNotIn("schedule:", done.stdout)
        self.assertIn("schedule:", self.check(blocks("json")[0].replace('"sent"', '"planned":1,"sent"'), code=1).stdout)
        self.assertEqual(done.stderr, "")
        summary = json.loads(self.check(blocks("json")[0], "--output-format", "json", code=1).stdout)
        jsonschema.Draft202012Validator(SUMMARY).validate(summary)
        reason = "the sales do not tell how many units they left"
        self.assertEqual(summary["strategies"][0]["not_asked"], {
            "TWIN": reason, "STALE": reason, "DUPLICATE": "the orders have no key, and no request was repeated",
            "UNBACKED": "the orders do not tell how many units are held for them"})
        self.assertEqual({a["name"]: a["count"] for a in summary["strategies"][0]["anomalies"]}["OVERSELL"], 1)

    def test_several_products_are_told_apart_by_their_number(self):
        digest, tests = self.folder / "digest.md", self.folder / "tests.xml"
        text = ('{"type":"load","version":1}\n{"type":"product","initial":3,"available":3}\n'
                '{"type":"product","initial":1,"available":0}\n{"type":"order","order_id":"a"}\n{"type":"order","order_id":"b"}\n'
                '{"type":"request","item":1,"sent":1,"received":2,"outcome":"sold","order_id":"a"}\n')
        done = self.check(text, "--markdown", str(digest), "--junit", str(tests), "--output-format", "json", code=1)
        summary = json.loads(done.stdout)
        jsonschema.Draft202012Validator(SUMMARY).validate(summary)
        self.assertEqual((summary["strategies"][0]["stock"], summary["strategies"][0]["sold"]), (4, 2))
        self.assertIn("OVERSELL, product 1", digest.read_text())
        self.assertIn("Not asked of `load`: TWIN and STALE", digest.read_text())
        self.assertIn("VIOLATED", tests.read_text())

    def test_lines_of_jmeter(self):
        done = subprocess.run([sys.executable, "-c", next(b for b in blocks("python") if "csv" in b)], input=blocks("csv")[0],
                              capture_output=True, text=True, timeout=20, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["outcome"] for line in lines], ["sold", "sold", "sold_out", "unknown"])
        self.assertEqual((lines[0]["sent"], lines[0]["received"]), (1000000, 82000000))
        self.assert_judged(done.stdout)

    def test_lines_of_k6(self):
        """Its script in Node, with a module in the place of k6's that answers at once."""
        script = next(b for b in blocks("js") if "k6/http" in b).replace("'k6/http'", "'./http.mjs'")
        (self.folder / "http.mjs").write_text("export default {post: () => ({status: 201, json: member => ({id: 'A-1001'})[member]})};")
        (self.folder / "buy.mjs").write_text(script)
        (self.folder / "run.mjs").write_text("import buy, {setup} from './buy.mjs';\nbuy(setup());")
        done = subprocess.run(["node", "run.mjs"], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assert_judged(done.stdout)

    def test_lines_of_locust(self):
        """Its class, with a client that answers at once."""
        class Reply:
            status_code = 201

            def json(self):
                return {"id": "A-1001"}

        class Client:
            def post(self, path, json):
                return Reply()

        locust = types.ModuleType("locust")
        locust.HttpUser, locust.task = object, lambda function: function
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        sys.modules["locust"] = locust
        self.addCleanup(sys.modules.pop, "locust")
        scope = {}
        exec(next(b for b in blocks("python") if "locust" in b), scope)
        customer = scope["Customer"]()
        customer.client = Client()
        customer.buy()
        scope["LINES"].close()
        self.assert_judged((self.folder / "requests.ndjson").read_text())

    def assert_judged(self, requests):
        """The request lines fit the schema, and are judged beside a product and an order."""
        text = "".join(['{"type":"load","version":1}\n', requests, '{"type":"product","initial":2,"available":1}\n',
                        '{"type":"order","order_id":"A-1001"}\n'])
        for line in text.splitlines():
            LOAD.validate(json.loads(line))
        verdict, code = ("GHOST", 1) if "A-1002" in requests else ("INCONCLUSIVE", 2)
        self.assertIn(verdict, self.check(text, code=code).stdout)

    def test_a_file_of_10_gb_is_read_in_bounded_memory(self):
        """A line of 10 GB; and 256 MiB of lines before a bad one."""
        begin = blocks("json")[0]
        for size, lines, said in [(10 * 2**30, 0, "line 10: it is longer than 1048576 bytes"),
                                  (0, 256, 'its "type" must be one of "product", ')]:
            with self.file.open("w") as file:
                file.write(begin)
                for _ in range(lines):  # a child's peak of memory is at least that of its parent
                    file.write("\n" * 2**20)
                file.write('{"type":"dance"}\n' if lines else "")
            if size > 0:
                os.truncate(self.file, size)
            child = subprocess.Popen([str(ROOT / BUILD / "bin/loadgen"), "check", str(self.file)], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            errors = child.stderr.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            child.stderr.close()
            self.assertEqual(child.returncode, 66, errors)
            self.assertIn(said, errors)
            self.assertLess(usage.ru_maxrss, 200 * 1024)  # KiB

    def test_a_bad_line_is_named(self):
        lines = blocks("json")[0].splitlines(keepends=True)
        lines[4] = lines[4].replace('"sold"', '"yes"')
        done = self.check("".join(lines), code=66)
        self.assertIn('my-load.ndjson line 5: its "outcome" must be one of "sold", "sold_out", ', done.stderr)


class Schema(Folder):
    def test_it_is_a_schema_and_refuses_bad_lines(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        good = {"type": "request", "sent": 1, "received": 2, "outcome": "sold", "order_id": "A-1"}
        for change in [{}, {"sent": 0}, {"order_id": "x" * 36}, {"outcome": "unknown", "item": 3}]:
            LOAD.validate({**good, **change})
        for change in [{"type": "dance"}, {"type": 5}, {"sent": -1}, {"sent": 1.5}, {"sent": "1"}, {"sent": 10**18 + 1},
                       {"order_id": "a b"}, {"order_id": ""}, {"order_id": "x" * 129}, {"order_id": 'a"'}, {"outcome": "yes"},
                       {"colour": 1}, {"is_repeat": 1}]:
            self.assertFalse(LOAD.is_valid({**good, **change}), change)
            self.assertFalse(ANY.is_valid({**good, **change}), change)
        for line in [{"type": "load"}, {"type": "product", "initial": 1}, {"type": "sale"}, [], 5,
                     {"type": "order", "order_id": "a", "at": "today"}]:
            self.assertFalse(ANY.is_valid(line), line)

    def test_what_it_refuses_the_checker_refuses(self):
        """Each member of each line, with values of other types and beyond the range."""
        whole = ['{"type":"load","version":1,"name":"x","started_us":1}',
                 '{"type":"product","item":0,"initial":2,"available":1,"returned":0}',
                 '{"type":"sale","order_id":"a","remaining":1,"instance":"i","at":"2026-11-21T10:01:02.123456Z"}',
                 '{"type":"order","order_id":"a","instance":"i","at":"2026-11-21T10:01:02.123456Z"}',
                 '{"type":"request","item":0,"planned":1,"sent":2,"received":3,"status":200,"key":"k","order_id":"a","is_repeat":false,'
                 '"outcome":"sold"}']
        self.check("\n".join(whole), code=2)
        tried = 0
        for at, line in enumerate(whole):
            LOAD.validate(json.loads(line))
            for member in json.loads(line):
                for value in [None, -10**19, 10**19, 1.5, "", "no such", [], True]:
                    changed = {**json.loads(line), member: value}
                    if member != "type" and not LOAD.is_valid(changed):
                        done = self.check("\n".join([*whole[:at], json.dumps(changed), *whole[at + 1:]]), code=66)
                        self.assertIn(f'line {at + 1}: its "{member}" must be ', done.stderr)
                        tried += 1
        self.assertGreater(tried, 100)


def export(path, *args):
    """The operations of a round, read from both forms; and what the program said."""
    forms = []
    for form in ("edn", "json"):
        done = subprocess.run([str(ROOT / BUILD / "bin/loadgen"), "export", "--jepsen", str(path), "--output-format", form, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            return None, done
        forms.append(edn.read_all(done.stdout) if form == "edn" else json.loads(done.stdout))
    assert forms[0] == forms[1]
    return forms[0], done


def check_set(operations):
    """A checker for a set: elements that were added and are not there, and elements that nobody added."""
    read = operations[-1]["value"]
    added = {op["value"] for op in operations if op["f"] == "add" and op["type"] == "ok"}
    tried = {op["value"] for op in operations if op["f"] == "add" and op["type"] == "invoke"}
    return added - set(read), set(read) - tried


class Export(Folder):
    def test_operations_are_in_order_and_each_ends_once(self):
        self.file.write_text(blocks("json")[0])
        operations, _ = export(self.file)
        self.assertEqual([op["index"] for op in operations], list(range(10)))
        self.assertEqual([op["type"] for op in operations], ["invoke"] * 4 + ["ok", "ok", "fail", "ok"] + ["invoke", "ok"])
        self.assertEqual([op["time"] for op in operations], sorted(op["time"] for op in operations))
        self.assertEqual(operations[6]["error"], "sold_out")
        self.assertEqual(operations[-1]["products"], [{"stock": 2, "left": 1}])
        self.assertEqual(check_set(operations), (set(), set()))

    def test_a_checker_for_sets_sees_ghosts_and_orders_that_nobody_asked_for(self):
        self.file.write_text(blocks("json")[0].replace('"order","order_id":"A-1003"', '"order","order_id":"A-1004"'))
        self.assertEqual(check_set(export(self.file)[0]), ({"A-1003"}, {"A-1004"}))

    def test_what_each_sale_left_stands_beside_the_ledger(self):
        self.file.write_text('{"type":"load","version":1}\n{"type":"product","initial":2,"available":1}\n'
                             '{"type":"sale","order_id":"b","remaining":1}\n{"type":"sale","order_id":"a","remaining":1}\n'
                             '{"type":"request","outcome":"unsent"}\n{"type":"request","sent":5,"outcome":"unknown"}')
        operations, _ = export(self.file)
        self.assertEqual(operations[-1]["products"], [{"stock": 2, "left": 1, "remaining": [["a", 1], ["b", 1]]}])
        self.assertEqual([op["type"] for op in operations], ["invoke", "info", "invoke", "ok"])

    def test_what_cannot_be_exported_is_named(self):
        self.file.write_text(blocks("json")[0])
        for path, args, code, said in [(self.folder / "none", [], 66, "No such file"), (self.file, ["--round", "2"], 66, "has 1 round"),
                                       (self.file, ["--output-format", "xml"], 64, "must be edn or json")]:
            done = export(path, *args)[1]
            self.assertEqual(done.returncode, code)
            self.assertIn(said, done.stderr)


class RealRuns(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    def test_each_line_of_real_histories_fits_the_schema(self):
        root = Path(tempfile.mkdtemp(prefix="sale-own-load-"))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        quick = ["--no-results=false", "--results", str(root), "--no-progress", "-R", "400", "-d", "200ms"]
        seen = set()
        for args in (["--strategy", "none,atomic,prewarm", "--stock", "20", "--dup-rate", "20%"],
                     ["--strategy", "sharded,shards=4", "--stock", "20", "--items", "3"],
                     ["--strategy", "redis,fail=before-write:pause=20ms@3", "--stock", "20"],
                     ["--strategy", "atomic", "--keyless"],
                     ["--strategy", "atomic", "--fault", "inventory-1:pause=50ms@50ms", "--stack", str(ROOT / "scripts/stack")],
                     ["--no-judge", "--path", "/health"]):
            self.stack.loadgen(*quick, *args)
            for line in (root / "latest/history.ndjson").read_text().splitlines():
                value = json.loads(line)
                self.assertEqual([e.message for e in RUN.iter_errors(value)], [], line)
                seen.add(value["type"])
            self.assert_exported(root / "latest")
        self.assertLessEqual({"run", "round", "request", "event", "product", "row", "sale", "order", "end"}, seen)

    def assert_exported(self, folder):
        """The operations of each round have the requests, the outcomes and the sales of its history."""
        rounds = []
        for line in map(json.loads, (folder / "history.ndjson").read_text().splitlines()):
            if line["type"] == "round":
                rounds.append([])
            elif rounds:
                rounds[-1].append(line)
        kinds = {"sold": "ok", "unknown": "info"}
        for number, lines in enumerate(rounds, 1):
            operations, _ = export(folder, "--round", str(number))
            requests = [line for line in lines if line["type"] == "request"]
            wanted = Counter((kinds.get(r["outcome"], "fail"), r.get("order_id", r["key"])) for r in requests
                             if r["outcome"] not in ("unsent", "unreached"))
            adds = [op for op in operations if op["f"] == "add"]
            self.assertEqual(Counter((op["type"], op["value"]) for op in adds if op["type"] != "invoke"), wanted)
            self.assertEqual(sum(op["type"] == "invoke" for op in adds), wanted.total())
            if operations[-1]["f"] == "read":
                sales = [line for line in lines if line["type"] == "sale"]
                self.assertEqual(Counter(operations[-1]["value"]), Counter(sale["order_id"] for sale in sales))
                self.assertEqual(sum(len(product["remaining"]) for product in operations[-1]["products"]), len(sales))
        if len(rounds) > 1:
            self.assertIn("name one with --round", export(folder)[1].stderr)


if __name__ == "__main__":
    unittest.main()
