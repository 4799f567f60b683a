"""lab explore from outside: its output, JSON, page and exit codes. It needs no servers."""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, ROOT, wait_for

LAB = ROOT / BUILD / "bin" / "lab"
LONG = ("none,work=2ms", "--orders", "5", "--preemptions", "12", "--no-table")


def lab(*args, **more):
    return subprocess.run([LAB, "explore", *args], capture_output=True, text=True, timeout=60, cwd=ROOT, **more)


def explored(*args):
    done = lab(*args, "--json")
    return done.returncode, json.loads(done.stdout)


def catches_interrupts(pid):
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text()).group(1)
    return int(caught, 16) >> (signal.SIGINT - 1) & 1


class Explore(unittest.TestCase):
    def test_a_right_strategy_holds_in_every_schedule(self):
        done = lab("pg-version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("schedules: complete, none violated", done.stdout)
        self.assertIn("It holds in every schedule within this bound.", done.stdout)

    def test_a_wrong_one_ends_with_1_and_its_shortest_schedule(self):
        done = lab("none", "--orders", "2")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("TWIN", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ +1 +0  A +2 +0  A, at inventory-1, reads the stock: 2 left$")
        self.assertRegex(done.stdout, r"B writes 1, and sells unit 2")
        self.assertNotIn("\033", done.stdout)
        again = re.search(rf"^Again: {re.escape(str(LAB))} explore (.*)$", done.stdout, re.M).group(1)
        self.assertEqual(again.split()[:-1], ["none", "--orders", "2", "--replay"])
        replayed = lab(*again.split())
        self.assertEqual(replayed.returncode, 1)
        lines = [line for line in done.stdout.splitlines() if re.match(r" +\d+ ", line)]
        self.assertEqual([line for line in replayed.stdout.splitlines() if re.match(r" +\d+ ", line)], lines)

    def test_the_printed_replay_command_can_be_typed(self):
        mine = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="two words, 'quoted'"))) / "01.c"
        mine.write_text((ROOT / "lab/01-oversell/exercise.c").read_text())
        done = lab(str(mine), "--orders", "2")
        again = shlex.split(re.search(rf"^Again: {re.escape(str(LAB))} explore (.*)$", done.stdout, re.M).group(1))
        self.assertEqual(again[:-1], [str(mine), "--orders", "2", "--replay"])
        checked = subprocess.run([LAB, "check", mine, "--chapter", "1"], capture_output=True, text=True, timeout=60, cwd=ROOT)
        shown = shlex.split(re.search(rf"See it: {re.escape(str(LAB))} explore (.*)$", checked.stdout, re.M).group(1))
        for typed in again, shown:
            self.assertEqual(lab(*typed).returncode, 1)

    def test_no_line_is_wider_than_100_columns(self):
        for spec, orders in (("none,work=2ms", "3"), ("pg-version,wait=1m,work=1500ms", "3"), ("none", "7"), ("pg-nowait", "7")):
            done = lab(spec, "--orders", orders, "--preemptions", "0", "--stock", "1000")
            for line in done.stdout.splitlines():
                if not line.startswith("Again: "):
                    self.assertLessEqual(len(line), 100, line)

    def test_json_is_one_object_that_says_all(self):
        code, found = explored("none,work=2ms", "--stock", "1")
        self.assertEqual(code, 1)
        self.assertEqual(list(found), ["spec", "orders", "instances", "stock", "preemptions", "faults", "options", "complete",
                                       "schedules", "runs", "states", "seconds", "violation"])
        self.assertEqual((found["spec"], found["orders"], found["instances"], found["stock"], found["preemptions"], found["faults"],
                          found["options"], found["complete"]), ("none,work=2ms", 3, 2, 1, 3, [], "", True))
        self.assertGreater(found["schedules"], found["runs"])
        violation = found["violation"]
        self.assertEqual(list(violation), ["id", "anomalies", "summary", "steps"])
        self.assertIn("TWIN", violation["anomalies"])
        self.assertIn("unit 1", violation["summary"])
        steps = violation["steps"]
        self.assertEqual(steps[0], {"number": 1, "actor": "A", "instance": "inventory-1", "action": "reads the stock",
                                    "detail": "1 left", "now_ms": 0, "stock": [1], "sold": 0})
        self.assertEqual([step["number"] for step in steps], list(range(1, len(steps) + 1)))
        self.assertTrue(any(step["actor"] == "clock" and step["action"] == "2 ms pass" for step in steps))
        self.assertEqual(steps[-1]["sold"], max(step["sold"] for step in steps))
        self.assertEqual([step["now_ms"] for step in steps], sorted(step["now_ms"] for step in steps))

    def test_json_of_a_right_one_has_no_violation(self):
        code, found = explored("atomic", "--options", "work=2ms")
        self.assertEqual((code, found["violation"], found["complete"], found["options"]), (0, None, True, "work=2ms"))

    def test_json_names_the_faults(self):
        self.assertEqual(explored("atomic", "--faults", "expiry,pause")[1]["faults"], ["pause", "expiry"])
        self.assertEqual(explored("atomic", "--faults", "none")[1]["faults"], [])
        self.assertEqual(lab("atomic", "--faults", "survives").returncode, 0)

    def test_with_and_without_a_table_it_counts_the_same(self):
        _, known = explored("none,work=2ms")
        _, naive = explored("none,work=2ms", "--no-table")
        self.assertEqual(naive["schedules"], known["schedules"])
        self.assertEqual(naive["runs"], naive["schedules"])
        self.assertEqual(len(naive["violation"]["id"]), len(known["violation"]["id"]))

    def test_a_replay_is_judged(self):
        _, found = explored("none", "--orders", "2")
        code, again = explored("none", "--orders", "2", "--replay", found["violation"]["id"])
        self.assertEqual(code, 1)
        self.assertEqual(again["violation"], found["violation"])
        done = lab("none", "--orders", "2", "--replay", "AABB")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Nothing is wrong with this schedule.", done.stdout)

    def test_choices_lead_to_each_verdict(self):
        _, found = explored("none", "--orders", "2", "--choices")
        states = found["choices"]["states"]
        self.assertTrue(found["choices"]["is_complete"])
        ways, at = [], [(0, [])]
        while at:
            state, taken = at.pop()
            at += [(move["to"], [*taken, move["steps"][0]["actor"]]) for move in states[state].get("moves", [])]
            ways += [(taken, states[state]["broken"] is not None)] if states[state]["has_ended"] or states[state]["broken"] else []
        self.assertEqual(sum(is_broken for _, is_broken in ways), 4)
        self.assertEqual({tuple(taken[:4]) for taken, is_broken in ways if not is_broken}, {("A", "A", "B", "B"), ("B", "B", "A", "A")})
        _, many = explored("redis", "--faults", "pause,crash", "--choices")
        self.assertFalse(many["choices"]["is_complete"])
        self.assertEqual(sum("moves" in state for state in many["choices"]["states"]), 400)
        self.assertTrue(any(state["broken"] for state in many["choices"]["states"]))

    def test_a_viewer_breaks_it_on_the_page(self):
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.html"
        lab("none", "--orders", "2", "--choices", "--page", page)
        done = subprocess.run(["node", "test/node/choose.js", page, "1", "1", "back", "hint", "2", "1", "1"], capture_output=True,
                              text=True, timeout=60, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual((seen["problems"], seen["pale"], seen["overflow"]), ([], [], 0))
        self.assertEqual(seen["bound"].partition("breaks. ")[2], "All 16 states of these orders are here.")
        begun, _, _, back, hint, *_, broken = seen["shown"]
        self.assertIn("A has not come", begun["now"])
        self.assertEqual(begun["moves"], ["1. Order A on inventory-1: reads the stock, 2 left", "2. Order B on inventory-2: reads the stock, 2 left"])
        self.assertEqual((back["taken"], back["focus"]), (1, "BUTTON"))
        self.assertIn("Hint: move 2. The nearest violation is 3 moves away.", hint["now"])
        self.assertIn("✗ TWIN", broken["now"])
        self.assertIn("both sold unit 2", broken["now"])
        self.assertIn("You broke it in 4 moves; the shortest way on this page has 4.", broken["now"])

    def test_a_player_breaks_a_strategy_move_by_move(self):
        done = lab("none", "--orders", "2", "--break", input="1\n2\n1\n1\n")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("The next move:\n    1  A reads the stock: 2 left\n    2  B reads the stock: 2 left\n> ", done.stdout)
        self.assertIn("row  2 left of 2, 0 sold, version 0, fence 0\n         A  has not come\n         B  has not come\n", done.stdout)
        ended = done.stdout.rpartition("\n> ")[2]
        self.assertIn("TWIN: one unit was sold twice\n", ended)
        self.assertIn("\nYou broke it in 4 moves; the explorer, with the fewest switches and faults, needs 4.\n", ended)
        again = re.search(rf"^Again: {re.escape(str(LAB))} explore (.*)$", ended, re.M).group(1)
        self.assertEqual(again, "none --orders 2 --replay ABAB")
        self.assertEqual(lab(*again.split()).returncode, 1)

    def test_a_player_takes_back_asks_and_leaves(self):
        done = lab("redis-ttl", "--orders", "2", "--faults", "expiry", "--break", input="u\n9\nh\n1\nu\nq\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("Type a number from 1 to 2, u, h or q."), 2)
        self.assertIn("> Hint: 1 is the next move of the shortest way from here.\n", done.stdout)
        shown = done.stdout.split("\n> ")
        self.assertEqual(shown[0].partition(" step ")[2], shown[-2].partition(" step ")[2])
        self.assertRegex(done.stdout, r'(?m)^ +key  "lock" = ".*", set by A, for \d+ ms more$')

    def test_hints_lead_to_the_explorers_schedule(self):
        moves = []
        for _ in range(40):
            done = lab("redis", "--orders", "2", "--faults", "pause", "--options", "ttl=1s", "--break", input="".join(moves) + "h\n")
            if done.returncode == 1:
                break
            moves.append(re.search(r"Hint: (\d+) is", done.stdout).group(1) + "\n")
        told = re.search(r"You broke it in (\d+) moves; .* needs (\d+)\.", done.stdout)
        self.assertEqual(told.group(1), told.group(2))
        self.assertIn("inventory-1 stands still", done.stdout)

    def test_a_right_strategy_cannot_be_broken(self):
        done = lab("atomic", "--orders", "2", "--instances", "1", "--break", input="h\n1\n1\n1\n1\n1\n1\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("The explorer found no schedule that breaks it within this bound.", done.stdout)
        self.assertIn("Nothing breaks after these moves within 3 more switches", done.stdout)
        self.assertIn("This schedule holds: it has ended, and nothing is wrong.", done.stdout)

    def test_a_batch_is_one_step_that_sells_to_all_of_it(self):
        for flags in ((), ("--instances", "1"), ("--orders", "5", "--preemptions", "2")):
            self.assertEqual(explored("batched", *flags)[0], 0, flags)
        done = lab("batched", "--instances", "1", "--stock", "3", "--replay", "ABCABC")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^ .* 2 +1  B sends one statement for B and C$")
        self.assertRegex(done.stdout, r"(?m)^ .* 0 +3  B sells to B and C with one statement: unit 2 to B, unit 1 to C$")

    def test_a_page_is_one_file_that_reads_without_its_script(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            self.assertEqual(lab("none", "--orders", "2", "--page", page).returncode, 1)
            text = page.read_text()
            self.assertTrue(text.startswith("<!DOCTYPE html>"))
            self.assertNotRegex(text, r"""(?:src|href)=["'](?!data:)""")
            self.assertIn("<td>reads the stock: 2 left<td>2<td>0", text)
            self.assertIn("<title>none: OVERSELL TWIN</title>", text)
            data = re.search(r'<script type="application/json" id="explored">(.*?)</script>', text, re.S).group(1)
            self.assertIn("TWIN", json.loads(data)["violation"]["anomalies"])
            self.assertIn("const Steps", text)
            self.assertNotRegex(text, r"@[a-z]+@")
        self.assertEqual(lab("none", "--page", "/nowhere/page.html").returncode, 70)

    def test_a_deleted_key_of_another_gives_way_to_a_worse_violation(self):
        code, found = explored("redis-ttl", "--options", "work=12s,wait=30s")
        self.assertEqual((code, found["violation"]["anomalies"]), (1, ["OVERSELL", "TWIN", "FREES-ANOTHERS"]))
        code, found = explored("redis-ttl", "--orders", "2", "--options", "work=12s,wait=30s", "--stock", "9", "--preemptions", "0")
        self.assertEqual((code, found["violation"]), (0, None))

    def test_a_sale_without_its_work_is_named(self):
        mine = Path(self.enterContext(tempfile.TemporaryDirectory())) / "01.c"
        mine.write_text((ROOT / "lab/01-oversell/answer.c").read_text().replace("    store_work(sale);\n", ""))
        for options, anomalies in ("work=2ms", ["SKIPS-WORK"]), ("work=0", None):
            code, found = explored(str(mine), "--options", options)
            self.assertEqual((code, (found["violation"] or {}).get("anomalies")), (1 if anomalies else 0, anomalies))

    def test_an_order_alone_may_be_held_to_a_number_of_steps(self):
        self.assertEqual(lab("atomic", "--max-steps", "1").returncode, 0)
        done = lab("pg-version", "--max-steps", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("makes 2 steps, but --max-steps is 1", done.stderr)

    def test_a_strategy_names_the_faults_that_it_survives(self):
        done = subprocess.run([LAB, "strategies", "--json"], capture_output=True, text=True, timeout=20)
        told = {strategy["name"]: strategy for strategy in json.loads(done.stdout)}
        self.assertEqual((done.returncode, len(told)), (0, 38))
        self.assertEqual(list(told["redis"]), ["name", "family", "summary", "options", "right", "survives", "breaks"])
        self.assertEqual([told["redis"][key] for key in ("name", "family", "right", "survives", "breaks")],
                         ["redis", "Redis", True, ["crash", "lost-reply", "expiry"], ["pause", "failover"]])
        self.assertIn("ttl=10s", told["redis"]["options"])
        code, found = explored("redis", "--faults", "survives")
        self.assertEqual((code, found["faults"]), (0, told["redis"]["survives"]))
        text = subprocess.run([LAB, "strategies"], capture_output=True, text=True, timeout=20).stdout
        self.assertEqual([line.split()[0] for line in text.splitlines()[1:]], list(told))

    def test_an_impossible_argument_is_refused_with_the_possible_ones(self):
        for args, told in ((("nothing",), "strategies: none, mutex"), (("none,foo=1",), "its options: work, wait"),
                           ((), "name one SPEC"), (("none", "atomic"), "name one SPEC"), (("none", "--orders", "8"), "1..7"),
                           (("none", "--faults", "fire"), "known are none, survives, pause, crash, lost-reply, expiry, failover"),
                           (("none", "--replay", "AZ"), "is not a schedule's id"), (("none", "--replay", "AAA"), "move 3"),
                           (("sharded,shards=17",), "at most 16 shards"), (("none,fail=after-read:crash",), "--faults"),
                           (("none", "--nothing"), "--nothing"), (("none", "--preemptions", "-1"), "0..20"),
                           (("nothing.c",), "nothing.c")):
            done = lab(*args)
            self.assertEqual((done.returncode, done.stdout), (64, ""), args)
            self.assertIn(told, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1 if "--" not in "".join(args) else done.stderr.count("\n"))

    def test_help_names_every_option(self):
        done = lab("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("orders", "instances", "stock", "preemptions", "faults", "replay", "step", "json", "page", "no-table",
                       "max-steps", "options"):
            self.assertIn(f"--{option}", done.stdout)

    def test_ctrl_c_ends_it_with_what_is_known(self):
        run = subprocess.Popen([LAB, "explore", *LONG, "--json"], stdout=subprocess.PIPE, text=True)
        wait_for("it catches the signal", lambda: catches_interrupts(run.pid))
        run.send_signal(signal.SIGINT)
        found = json.loads(run.communicate(timeout=20)[0])
        self.assertEqual((run.returncode, found["complete"]), (130, False))
        self.assertGreater(found["schedules"], 0)

    def test_ctrl_c_ends_a_strategy_that_makes_no_step(self):
        text = (ROOT / "lab/museum/turns_all_away.c").read_text().replace("return outcome", "for (;;)\n        ;\n    return outcome", 1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "endless.c"
            path.write_text(text)
            run = subprocess.Popen([LAB, "explore", str(path)], stdout=subprocess.DEVNULL)
            wait_for("it catches the signal", lambda: catches_interrupts(run.pid))
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(timeout=20), 130)

    def test_a_reader_who_leaves_ends_it(self):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as left:
            run = subprocess.run([LAB, "explore", "none"], stdout=left, stderr=subprocess.PIPE, timeout=20)
        self.assertIn(run.returncode, (-signal.SIGPIPE, 70))

    def test_a_terminal_sees_how_far_it_is(self):
        master, slave = pty.openpty()
        run = subprocess.Popen([LAB, "explore", *LONG, "--json"], stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        seen = b""
        while b"schedules so far" not in seen:
            self.assertTrue(select.select([master], [], [], 20)[0], "no progress")
            seen += os.read(master, 4096)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=20), 130)
        os.close(master)

    def test_steps_go_forward_and_back(self):
        done = lab("none", "--orders", "2", "--step", input="\n\nb\nq\n")
        shown = re.findall(r"step (\d+) of (\d+);", done.stdout)
        self.assertEqual([int(at) for at, _ in shown], [1, 2, 3, 2])
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
