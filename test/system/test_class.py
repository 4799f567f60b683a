"""The page for the class: a lesson in a real browser, and visitors that must not start one."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, Answer, SystemTest, wait_for

PORT = PORT_BASE + 40
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
RUN = {"strategies": ["none"], "rate": 200, "requests": 200, "stock": 100, "work_ms": 20, "fault": "none"}
LONG = {**RUN, "strategies": ["redis"], "rate": 50, "requests": 3000}
EXPLORE = {"strategy": "redis-ttl", "orders": 2, "instances": 2, "stock": 2, "preemptions": 3, "faults": ["pause"]}
STEPS = [("A", "take the lock", "won"), ("A", "read the stock", "2"), ("fault", "pause", "A stands still"),
         ("clock", "jumps", "A's lease has expired"), ("B", "read the stock", "2"), ("B", "write the stock", "1"),
         ("A", "write the stock", "1")]
# In place of lab: it notes its arguments, and finds STEPS unless the strategy is atomic.
LAB = """#!/usr/bin/env python3
import json, sys, time
open(sys.argv[0] + ".asked", "a").write(json.dumps(sys.argv[1:]) + "\\n")
if "4" in sys.argv:
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(60)
if "spin" in sys.argv:
    sys.exit("lab: no memory")
steps = [{"number": i + 1, "actor": a, "instance": "inventory-1", "action": what, "detail": d, "now_ms": 1000 * (i > 2),
          "stock": [2 - (i > 4)], "sold": max(0, i - 4)} for i, (a, what, d) in enumerate(%s)]
violation = None if "atomic" in sys.argv else {"id": "1.2", "anomalies": ["TWIN"], "summary": "A and B <b>sold</b> unit 2", "steps": steps}
print(json.dumps({"spec": sys.argv[2], "orders": 2, "instances": 2, "stock": 2, "preemptions": 3, "faults": ["pause"], "options": "",
                  "complete": True, "schedules": 1234, "runs": 99, "states": 55, "seconds": 0.5, "violation": violation}))
sys.exit(1 if violation else 0)
""" % STEPS


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Class(SystemTest):
    flags = {"INVENTORY_SVC_FLAGS": "--lab"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = Path(tempfile.mkdtemp(prefix="sale-class-"))
        shutil.copy(ROOT / BUILD / "bin/loadgen", cls.folder / "loadgen")
        (cls.folder / "lab").write_text(LAB)
        (cls.folder / "lab").chmod(0o755)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.start()

    def start(self, program=None, **settings):
        env = {k: v for k, v in self.stack.env.items() if k != "LOADGEN_NO_RESULTS"}
        env |= {k: v for k, v in self.stack.settings.items() if k.startswith("LOADGEN_")} | settings
        self.page = subprocess.Popen([program or str(self.folder / "loadgen"), "serve", "--class", "--results", str(self.folder / "results"),
                                      "--port", str(PORT)], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.assertEqual(self.page.stdout.readline(), f"listening on {ORIGIN}/ ; Ctrl-C ends\n")
        self.url = self.page.stdout.readline().removeprefix("the page for the class: ").strip()
        self.assertRegex(self.url, rf"^{ORIGIN}/class#[0-9a-f]{{32}}$")
        self.token = self.url.partition("#")[2]

    def end(self, number=signal.SIGINT):
        if self.page.poll() is None:
            self.page.send_signal(number)
        self.errors = self.page.communicate(timeout=30)[1]
        return self.page.returncode

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        try:
            connection.request(method, path, body=json.dumps(body) if isinstance(body, (dict, list)) else body, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, body=None, **headers):
        return self.ask("POST", path, {} if body is None else body, **{"Origin": ORIGIN, "X_Class_Token": self.token,
                                                                       "Content_Type": "application/json", **headers})

    def watch(self):
        """A reader of the events that has read the first event."""
        reader = socket.create_connection(("127.0.0.1", PORT), timeout=30)
        self.addCleanup(reader.close)
        reader.sendall(b"GET /class/events HTTP/1.1\r\nHost: %s\r\n\r\n" % HOST.encode())
        return reader

    def board(self):
        """The present state of the page: the first event of a new reader."""
        with self.watch() as reader:
            said = b""
            while b"\n\n" not in said.partition(b"\r\n\r\n")[2]:
                said += reader.recv(65536)
        return json.loads(re.search(rb"\ndata: (.*)\n\n", said).group(1))

    def child(self):
        """The process that runs for the page."""
        children = Path(f"/proc/{self.page.pid}/task/{self.page.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def wait_ended(self):
        return wait_for("its end", lambda: self.board()["ended"])

    def test_a_lesson(self):
        before = subprocess.run([self.folder / "loadgen", "--strategy", "atomic", "--rate", "200", "--requests", "100", "--stock", "50",
                                 "--dup-rate", "0", "--repeat", "3", "--results", self.folder / "results"], cwd=ROOT,
                                env={k: v for k, v in self.stack.env.items() if k != "LOADGEN_NO_RESULTS"} |
                                {k: v for k, v in self.stack.settings.items() if k.startswith("LOADGEN_")},
                                capture_output=True, text=True, timeout=60)
        self.assertIn(before.returncode, (0, 2), before.stdout + before.stderr)  # 2: a busy machine sent it too late to prove anything
        done = subprocess.run(["node", "test/node/teach.js", self.url, *filter(None, [os.environ.get("PICTURES")])], cwd=ROOT,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["problems"], [])
        self.assertEqual({url.split("/")[2] for url in seen["requests"]}, {HOST})
        self.assertNotIn(self.token, "".join(seen["requests"]))
        self.assertEqual(seen["hash"], "")
        self.check_none(seen["red"], seen["none"])
        self.assertTrue(seen["runWhileBusy"])
        self.check_atomic(seen["atomic"])
        self.assertEqual(seen["focus"], "run")
        self.assertEqual(seen["second"]["error"], "busy")
        self.assertIn("redis", seen["second"]["message"])
        self.assertIn("Stopped", seen["stopped"]["phase"])
        self.assertFalse(seen["stopped"]["problem"])
        self.check_steps(seen["steps"])
        self.assertIn("atomic holds in every schedule", seen["holds"])
        self.assertEqual((seen["pale"], seen["nameless"]), ({"light": [], "dark": []}, []))
        self.assertEqual(seen["clipped"], {"1280": [0], "390": [0]})
        self.assertEqual((seen["verdictInView"], seen["stepsInView"], seen["runInView"]), (True, True, {"1280": True, "390": True}))
        self.assertEqual(seen["times"], {"1280": [1], "390": [1]})
        self.assertIsNone(self.child())

    def check_none(self, red, none):
        self.assertTrue(red["isBad"])
        self.assertRegex(red["over"], r"^✗ \d+ too many$")
        self.assertGreater(int(none["sold"]), 100)
        self.assertEqual(int(none["sold"]) + int(none["refused"]), 1000)
        self.assertIn("VIOLATED", none["cards"][0])
        self.assertIn("VIOLATED OVERSELL", none["told"])
        for part in ("OVERSELL", "a contradiction", "sold unit"):
            self.assertIn(part, none["proof"])
        self.assertRegex(none["links"][0], r"^/runs/[^/]+/report.html$")
        for link in none["links"]:
            self.assertEqual(self.ask("GET", link).status, 200, link)

    def check_atomic(self, atomic):
        self.assertEqual((atomic["sold"], atomic["left"], atomic["refused"], atomic["isBad"]), ("100", "0", "900", False))
        self.assertIn("VALID", atomic["cards"][0])
        new, old = atomic["rows"][:2]
        self.assertEqual((new[0], new[1], new[2]), ("new", "this run", "atomic"))
        self.assertEqual((old[0], old[2]), ("", "none"))
        self.assertIn("VALID", new[3])
        self.assertIn("VIOLATED", old[3])
        self.assertEqual(new[4], "100 / 100")
        self.assertEqual(atomic["rows"][2][4], "150 / 150")  # three rounds

    def check_steps(self, steps):
        self.assertIn("TWIN", steps["head"])
        self.assertIn("1,234 schedules", steps["bound"])
        self.assertEqual(steps["summary"], "A and B <b>sold</b> unit 2")
        self.assertEqual([steps[at]["place"] for at in ("first", "second", "last", "beyond", "back", "anywhere", "field")],
                         [f"Step {n} of 7" for n in (1, 2, 7, 7, 6, 5, 5)])
        self.assertEqual(steps["second"]["what"], "Order A on inventory-1: read the stock, 2")
        self.assertEqual([part.strip() for part in steps["last"]["facts"].split("\n")], ["clock 1,000 ms", "stock 1", "sold 2 of 2", "✗ TWIN"])
        self.assertEqual((steps["last"]["now"], steps["live"]), (1, "polite"))
        asked = [json.loads(line) for line in (self.folder / "lab.asked").read_text().splitlines()]
        self.assertIn(["explore", "redis-ttl", "--json", "--choices", "--orders", "2", "--instances", "2", "--stock", "2", "--preemptions", "3", "--faults", "pause"], asked)

    def test_a_stranger_is_refused(self):
        for host in ("evil.example", "192.0.2.7", f"evil.example:{PORT}", "0.0.0.0"):
            for path in ("/class", "/class/setup", "/class/runs", "/class/events", "/class/explored", "/class/class.js"):
                self.assertEqual(self.ask("GET", path, Host=host).status, 421, (host, path))
            self.assertEqual(self.post("/class/run", RUN, Host=host, Origin=f"http://{host}").status, 421)
        for path in ("/class/run", "/class/explore", "/class/stop"):
            for origin in (None, "null", "http://evil.example", f"https://{HOST}", f"http://localhost:{PORT}"):
                answer = self.post(path, RUN, Origin=origin)
                self.assertEqual((answer.status, answer.json["error"]), (403, "foreign_origin"), (path, origin))
            for token in (None, "", "0" * 32, self.token[:-1], self.token + "0", self.token.upper() + "x"):
                answer = self.post(path, RUN, X_Class_Token=token)
                self.assertEqual((answer.status, answer.json["error"]), (403, "wrong_token"), (path, token))
            self.assertIn(self.ask("GET", path).status, (404, 405))
        self.assertEqual(self.post("/class/stop", Host=f"localhost:{PORT}", Origin=f"http://localhost:{PORT}").status, 202)
        self.assertIsNone(self.child())

    def test_nothing_else_becomes_an_argument(self):
        for change in ({"strategies": ["none", "--help"]}, {"strategies": ["none,fail=after-read:crash"]}, {"strategies": ["nobody"]},
                       {"rate": 0}, {"rate": "800"}, {"work_ms": -1}, {"requests": 1e9}, {"fault": "redis:kill@1s"}, {"stock": None}):
            answer = self.post("/class/run", {**RUN, **change})
            self.assertEqual((answer.status, answer.json["error"]), (422, "refused"), change)
        self.assertEqual(self.post("/class/explore", {**EXPLORE, "strategy": "/etc/passwd"}).status, 422)
        self.assertEqual(self.post("/class/run", "{").status, 400)
        self.assertEqual(self.post("/class/run", RUN, Content_Type="text/plain").status, 415)
        self.assertEqual(self.post("/class/run", "x" * 100_000).status, 413)
        self.assertIsNone(self.child())

    def test_a_program_that_dies_is_told(self):
        self.assertEqual(self.post("/class/run", LONG).status, 202)
        os.kill(wait_for("the child", self.child), signal.SIGKILL)
        ended = self.wait_ended()
        self.assertEqual((ended["signal"], ended["was_stopped"], ended["folder"]), (9, False, None))
        self.assertEqual(self.post("/class/explore", {**EXPLORE, "strategy": "spin"}).status, 202)
        ended = self.wait_ended()
        self.assertEqual((ended["kind"], ended["exit_code"], ended["said"]), ("explore", 1, "lab: no memory\n"))
        self.assertEqual(self.ask("GET", "/class/explored").status, 404)

    def test_a_strategy_whose_server_is_missing_says_so(self):
        self.assertEqual(self.post("/class/run", {**RUN, "strategies": ["redlock"]}).status, 202)
        ended = self.wait_ended()
        self.assertEqual((ended["exit_code"], ended["folder"]), (64, None))
        self.assertIn("scripts/stack up --with redlock", ended["said"].replace("\n", " "))

    def test_stop_ends_an_exploration(self):
        self.assertEqual(self.post("/class/explore", {**EXPLORE, "orders": 4}).status, 202)
        child = wait_for("the child", self.child)
        self.assertEqual(self.post("/class/run", RUN).status, 409)
        self.assertEqual(self.post("/class/stop").status, 202)
        self.assertTrue(self.wait_ended()["was_stopped"])
        self.assertFalse(is_alive(child))

    def test_lab_itself_tells_what_the_steps_show(self):
        self.end()
        self.start(program=str(ROOT / BUILD / "bin/loadgen"))
        self.assertEqual(self.post("/class/explore", {**EXPLORE, "strategy": "none", "faults": []}).status, 202)
        self.assertEqual(self.wait_ended()["exit_code"], 1)
        explored = self.ask("GET", "/class/explored").json
        steps = explored["violation"]["steps"]
        self.assertEqual([step["number"] for step in steps], list(range(1, len(steps) + 1)))
        for step in steps:
            self.assertRegex(step["actor"], "^([A-Z]|clock|fault)$")
            self.assertTrue(step["action"] and isinstance(step["now_ms"], int) and isinstance(step["sold"], int))
            self.assertTrue(all(isinstance(left, int) for left in step["stock"]))
        self.assertIn("TWIN", explored["violation"]["anomalies"])
        self.assertEqual(self.post("/class/explore", {**EXPLORE, "strategy": "atomic", "faults": []}).status, 202)
        self.assertEqual(self.wait_ended()["exit_code"], 0)
        explored = self.ask("GET", "/class/explored").json
        self.assertEqual((explored["complete"], explored["violation"]), (True, None))

    def test_a_signal_ends_what_runs(self):
        self.assertEqual(self.post("/class/run", LONG).status, 202)
        child = wait_for("the child", self.child)
        wait_for("a sale", lambda: (self.board()["live"] or {}).get("sold"))
        reader = self.watch()
        self.assertEqual(self.end(), 0)
        self.assertFalse(is_alive(child))
        self.assertEqual(self.errors, "")
        while reader.recv(65536):
            pass

    def test_without_a_stack_the_page_says_so(self):
        self.end()
        self.start(LOADGEN_TARGET=f"http://127.0.0.1:{PORT + 1}")
        setup = self.ask("GET", "/class/setup").json
        self.assertIn("cannot be reached", setup["problem"])
        self.assertEqual(setup["strategies"], [])
        answer = self.post("/class/run", RUN)
        self.assertEqual((answer.status, answer.json["error"]), (503, "no_target"))

    def test_readers_are_bounded_and_make_room_when_they_go(self):
        readers = [self.watch() for _ in range(16)]
        for reader in readers:
            self.assertIn(b"200 OK", reader.recv(65536))
        wait_for("no room", lambda: self.ask_events() == 503)
        for reader in readers:
            reader.close()
        wait_for("room", lambda: self.ask_events() == 200)

    def ask_events(self):
        with self.watch() as reader:
            return int(reader.recv(65536).split()[1])

    def test_a_reader_that_does_not_read_holds_up_nobody(self):
        slow = socket.socket()
        self.addCleanup(slow.close)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        slow.connect(("127.0.0.1", PORT))
        slow.sendall(b"GET /class/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(self.post("/class/run", RUN).status, 202)
        self.assertEqual(self.wait_ended()["kind"], "run")
        self.assertEqual(self.board()["rounds"][0]["strategy"], "none")


if __name__ == "__main__":
    unittest.main()
