"""Each failure on purpose is recorded: in the database before it happens, and in history, table, counterexample and page."""

import json
import shutil
import tempfile
import unittest
import uuid
from pathlib import Path

from harness import SystemTest
from test_page import look

FAILPOINT = "after-read:pause=600ms@20"


class Events(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    def events(self, product):
        return self.stack.sql("inventory", "SELECT instance, name, detail, order_id FROM lab_event WHERE product_id = :'id'", id=product)

    def run_in_folder(self, strategy, expected, *load):
        """Runs loadgen, which must end with 0. Returns its results folder and its output. A repeat may go to the other instance."""
        folder = Path(tempfile.mkdtemp(prefix="sale-events-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        done = self.stack.loadgen("--strategy", strategy, *load, "--dup-rate", "0", "--late", "9s", "--expect", expected, "--results", str(folder),
                                  "--no-progress", env={"LOADGEN_NO_RESULTS": "0"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return (folder / "latest").resolve(), done

    def test_a_pause_is_an_event_everywhere(self):
        run, done = self.run_in_folder(f"none,fail={FAILPOINT}", "none=VIOLATED", "--requests", "400", "--rate", "400", "--stock", "300")
        lines = [json.loads(line) for line in (run / "history.ndjson").read_text().splitlines()]
        events = [line for line in lines if line["type"] == "event"]
        summary = json.loads((run / "summary.json").read_text())["strategies"][0]
        self.check_history(events, lines)
        self.check_summary(summary, events)
        self.assertIn("fired: after-read pause 600 ms at inventory-", done.stdout)
        self.assertIn(f"fired {len(events)} times: {FAILPOINT}, first after-read pause 600 ms", (run / "violations.txt").read_text())
        self.check_page(run / "report.html", len(events))
        self.check_again(run, summary)

    def check_history(self, events, lines):
        """Each instance has a 20th sale, and pauses at it."""
        sales = {line["order_id"]: line for line in lines if line["type"] == "sale"}
        self.assertEqual(sorted(event["who"] for event in events), ["inventory-1", "inventory-2"])
        for event in events:
            self.assertEqual((event["kind"], event["name"], event["detail"]), ("failpoint", "after-read", "pause 600 ms"))
            self.assertEqual(event["until"] - event["at"], 600_000_000)
            self.assertEqual(sales[event["order_id"]]["instance"], event["who"])
            sent = next(line for line in lines if line["type"] == "request" and line["key"] == event["order_id"])
            self.assertLess(sent["sent"], event["at"] + 5_000_000, "the clocks differ by 5 ms")
            self.assertGreater(sent["received"], event["at"])

    def check_summary(self, summary, events):
        first = min(events, key=lambda event: event["at"])
        firing, = summary["firings"]
        self.assertEqual((firing["armed"], firing["kind"], firing["times"], firing["in_time"]), (FAILPOINT, "failpoint", 2, 2))
        self.assertEqual((firing["first"]["who"], firing["first"]["order_id"]), (first["who"], first["order_id"]))

    def check_page(self, page, count):
        found, = look(page)
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["clipped"], [])
        self.assertIn("Injected faults: after-read pause 600 ms at inventory-", found["text"])
        self.assertIn("injected fault", found["text"])

    def check_again(self, run, summary):
        done = self.stack.loadgen("check", str(run), "--output-format", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["strategies"][0]["firings"], summary["firings"])

    def test_a_lock_freed_by_another_order_is_told(self):
        """Each sale works for 550 ms under a TTL of 400 ms: B takes the key after the TTL, A frees it while B is at work, C takes it."""
        run, done = self.run_in_folder("redis-ttl,ttl=400ms,work=250ms,wait=9s,fail=before-delete:delay=300ms", "redis-ttl=TWIN+LEAK?+STALE?",
                                       "--requests", "24", "--rate", "40", "--stock", "200")
        lines = [json.loads(line) for line in (run / "history.ndjson").read_text().splitlines()]
        results = [line for line in lines if line["type"] == "event" and line["kind"] == "lock"]
        self.assertEqual({line["name"] for line in results}, {"SET NX", "DEL"})
        self.assertEqual(len({line["key"] for line in results}), 1)
        chain = next(proof for proof in json.loads((run / "summary.json").read_text())["strategies"][0]["counterexamples"] if proof["has_chain"])
        self.assertEqual(len(chain["order_ids"]), 3, chain["lines"])
        self.assertRegex(" ".join(chain["lines"]), r"A's lock expired by [\d.]+ s\. B took it at [\d.]+ s, before A had given it back\. A freed the lock at [\d.]+ s "
                                                   r"\(DEL\), but by then B held it\. C took it at [\d.]+ s while B was still at work\.")
        self.assertEqual({event["order"] for event in chain["events"]}, {"A", "B", "C"})
        self.assertIn("A freed the lock at", done.stdout.replace("\n      ", " "))

    def test_a_failpoint_that_never_fired_is_told(self):
        done = self.stack.loadgen("--strategy", "atomic,fail=before-write:error@9999", "--requests", "50", "--stock", "50", "--no-progress")
        self.assertIn("never fired: before-write:error@9999", done.stdout)

    def test_a_crash_is_told_before_it_happens(self):
        product, order = self.stack.product("none,fail=before-write:crash"), str(uuid.uuid4())
        self.addCleanup(self.stack.restart, "inventory-1")
        with self.assertRaises(ConnectionError):
            self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": order}, to="inventory-1")
        self.assertEqual(self.events(product), [["inventory-1", "before-write", "crash", order]])


if __name__ == "__main__":
    unittest.main()
