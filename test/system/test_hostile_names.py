"""Names of strangers, from a target or a results folder, control no terminal and forge no line in any output."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
# Clears the screen, sets its title, begins lines, the same in C1, and turns the direction of writing.
HOSTILE = "\x1b[2J\x1b]0;x\x07\nloadgen: VALID\r\x9b2J\u202e\u2066\u2028\x7f"


class Target(BaseHTTPRequestHandler):
    """Answers with HOSTILE in each place for text."""
    protocol_version = "HTTP/1.1"

    def reply(self, status, content):
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        text = {key: HOSTILE for key in ["name", "family", "summary", "promise", "breaks", "source"]}
        if self.server.is_broken:
            self.reply(500, {"error": HOSTILE, "message": HOSTILE})
        else:
            self.reply(200, {"strategies": [dict(text, options=[HOSTILE])]})

    def do_POST(self):  # noqa: N802
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(201, {"order_id": HOSTILE, "unit": 1, "remaining": 1, "instance": HOSTILE})

    def log_message(self, *_):
        pass


def change_strings(value, change):
    if isinstance(value, dict):
        return {key: change_strings(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [change_strings(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


class HostileNames(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="sale-hostile-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Target)
        self.server.is_broken = False
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_loadgen(self, *args):
        done = subprocess.run([PROGRAM, *args], cwd=self.root, env=dict(os.environ, COLUMNS="120"),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assert_tame(done.stdout.decode(), args)
        self.assert_tame(done.stderr.decode(), args)
        return done

    def against_target(self, *args):
        return self.run_loadgen("--target", f"http://127.0.0.1:{self.server.server_port}", *args)

    def assert_tame(self, text, where):
        for bad in "\x1b\x07\r\x7f\x9b\u202e\u2066\u2028":
            self.assertNotIn(bad, text, where)
        self.assertNotIn("\nloadgen: VALID", text, where)

    def run_folder(self):
        """A run against the target with --no-judge, because the target has no ledger."""
        self.against_target("--no-judge", "--requests", "40", "--no-tui", "--results", "results")
        return (self.root / "results/latest").resolve(strict=True)

    def test_replies_of_a_target(self):
        done = self.against_target("--list-strategies")
        self.assertEqual(len(done.stdout.splitlines()), 7)
        self.assertIn(b"promises: ?[2J?]0;x? loadgen: VALID", done.stdout)
        done = self.against_target("--list-strategies", "--output", "list.txt")
        self.assert_tame((self.root / "list.txt").read_text(), "list.txt")
        self.assertEqual(len(self.against_target("--strategy", "none").stderr.splitlines()), 1)
        self.server.is_broken = True
        done = self.against_target("--list-strategies")
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_instances_that_replies_name(self):
        folder = self.run_folder()
        self.assertIn("loadgen: VALID", (folder / "history.ndjson").read_text())
        for path in folder.iterdir():
            self.assert_tame(path.read_text(), path.name)
            self.assertNotIn("\\u001b", path.read_text(), path.name)

    def hostile_folder(self):
        """A judged run that a stranger might have written: each free text in it is HOSTILE."""
        folder = self.run_folder()
        lines = [json.loads(line) for line in (folder / "history.ndjson").read_text().splitlines()]
        run, begin, requests, end = lines[0], lines[1], [x for x in lines if x["type"] == "request"], lines[-1]
        run["settings"].update({"no_judge": False, "stock": 10, "name": HOSTILE, "command": HOSTILE})
        run["strategies"][0].update({"given": HOSTILE, "name": HOSTILE, "spec": HOSTILE})
        begin.update({"instances": [HOSTILE], "products": [requests[0]["key"]]})
        end.update({"verdict": "VIOLATED"})
        product = [{"type": "product", "item": 0, "initial": 10, "available": 9, "returned": 0, "counted": 2, "units": 1},
                   {"type": "row", "shard": 0, "first_unit": 1, "initial": 10, "available": 9}]
        place = {"unit": 10, "instance": HOSTILE, "at": "2026-11-25T12:00:00.000001Z"}
        sales = [{"type": "sale", "order_id": x["key"], "remaining": 9, "shard": 0, "fence": 0, **place} for x in requests[:2]]
        orders = [{"type": "order", "order_id": x["key"], **place} for x in requests[:2]]
        begin2, end2 = {**begin, "repeat": 1}, {**end, "problem": HOSTILE}
        history = [run, begin, *requests, *product, *sales, *orders, end, begin2, *requests, end2]
        (folder / "history.ndjson").write_text("".join(json.dumps(x) + "\n" for x in history))
        return folder

    def test_a_history(self):
        folder = self.hostile_folder()
        done = self.run_loadgen("check", str(folder))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"TWIN", done.stdout)
        self.assertIn(b"via ?[2J?]0;x? loadgen: VALID", done.stdout.replace(b"\n", b""))
        self.run_loadgen("check", str(folder), "--output-format", "json")
        self.run_loadgen("report", str(folder), "-o", str(self.root / "page.html"))
        self.assertNotIn("\\u001b", (self.root / "page.html").read_text())

    def test_a_history_that_is_no_json(self):
        folder = self.run_folder()
        for line in ["[\"a\" \x1b[2J\x9b]", "{\"\x1b[2J\": 1, \"\u202e\": 1, \"\u202e\": 2}", "\x1b[2J"]:
            (folder / "history.ndjson").write_text(line + "\n")
            self.assertEqual(self.run_loadgen("check", str(folder)).returncode, 66)

    def test_a_summary(self):
        folder = self.run_folder()
        benign = shutil.copytree(folder, self.root / "benign")
        for name in ["summary.json", "env.json"]:
            content = json.loads((folder / name).read_text())
            kept = {"schema_version", "verdict"} if name == "summary.json" else set()
            changed = {key: value if key in kept else change_strings(value, lambda text: text + HOSTILE)
                       for key, value in content.items()}
            (folder / name).write_text(json.dumps(changed))
        for pair in [(benign, folder), (folder, benign), (folder, folder)]:
            self.run_loadgen("diff", *map(str, pair))
            self.run_loadgen("diff", *map(str, pair), "--output-format", "json")
        self.assertIn(b"?[2J", self.run_loadgen("diff", str(folder), str(folder)).stdout)
        self.run_loadgen("check", str(folder))
        self.run_loadgen("report", str(folder), str(benign), "-o", "page.html")


# A hostile word that can stand in an argument, a variable or a file name.
WORD = b"x\x1b[2J\x1b]0;x\x07\nloadgen: VALID\r\xc2\x9b2J\x7f\xff<b>$(id)"
COMMANDS = {
    "bin/loadgen": [["--target", WORD], ["--strategy", WORD], ["--name", WORD], ["--product", WORD], ["--fault", WORD], [WORD],
                    ["--list-strategies", "--output", b"/dev/null/" + WORD], ["--bogus", WORD], ["check", WORD], ["report", WORD],
                    ["serve", WORD], ["claims", WORD], ["diff", WORD, WORD]],
    "bin/lockctl": [[WORD], ["run", WORD, "n", "--", "true"], ["break", "file:///dev/null", WORD], ["bench", WORD]],
    "bin/lab": [[WORD], ["explore", WORD], ["explore", "none", "--faults", WORD], ["explore", "none", "--replay", WORD],
                ["explore", "none", "--page", b"/dev/null/" + WORD], ["check", WORD], ["check", "--chapters", WORD, "01.c"],
                ["grade", WORD], ["build", WORD], ["build", b"/dev/null/" + WORD + b".c"], ["strategies", WORD]],
    "bin/order-svc": [["--inventory", WORD], ["--listen", WORD, "--inventory", "http://127.0.0.1:9"], [WORD]],
    "bin/inventory-svc": [["--name", WORD], ["--lock-dir", WORD], ["--exercise", WORD], [WORD]],
    "scripts/stack": [["kill", WORD], ["start", WORD], ["up", "--with", WORD], [WORD]],
    "scripts/lab": [["start", WORD], ["explore", "1", "--faults", WORD], [WORD]],
}
VARIABLES = [("PORT_BASE", "scripts/stack"), ("REDIS_DURABILITY", "scripts/stack"), ("LOCK_DIRS", "scripts/stack"),
             ("RUN_DIR", "scripts/stack"), ("B", "scripts/stack"), ("B", "scripts/lab"), ("B", "scripts/loadgen"),
             ("LOADGEN_TARGET", "bin/loadgen"), ("LOCKCTL_URL", "bin/lockctl")]


class HostileWords(unittest.TestCase):
    """Arguments, variables and file names: programs repeat them on a terminal without harm."""

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="sale-hostile-"))
        self.addCleanup(shutil.rmtree, self.root)

    def run_tame(self, program, *args, **env):
        path = ROOT / BUILD / program if program.startswith("bin/") else ROOT / program
        environment = dict(os.environ, COLUMNS="120", RUN_DIR=str(self.root / "run"), PORT_BASE=str(PORT_BASE),
                           LAB_WORK=str(self.root / "work")) | env
        environment.setdefault("B", BUILD)
        done = subprocess.run([path, *args], cwd=self.root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        for bad in [b"\x1b", b"\x07", b"\r", b"\x7f", b"\xc2\x9b", b"\xff", b"\nloadgen: VALID"]:
            self.assertNotIn(bad, done.stdout + done.stderr, (program, args, env))
        return done

    def test_arguments(self):
        for program, cases in COMMANDS.items():
            for args in cases:
                with self.subTest(program, args=args):
                    self.assertNotEqual(self.run_tame(program, *args).returncode, 0)

    def test_variables(self):
        for name, program in VARIABLES:
            args = {"scripts/stack": ["up"], "scripts/lab": ["check", "1"], "bin/lockctl": ["holders", "-", "n"]}.get(program, [])
            with self.subTest(program, name=name):
                value = (b"/dev/null/" if name in ("RUN_DIR", "B") else b"") + WORD
                self.assertNotEqual(self.run_tame(program, *args, **{name: os.fsdecode(value)}).returncode, 0)

    def test_files_of_a_student(self):
        folder = os.fsencode(self.root) + b"/" + WORD
        os.mkdir(folder)
        broken, held = folder + b"/03.c", folder + b"/04.c"
        Path(os.fsdecode(broken)).write_bytes(b'#error "\x1b]0;x\x07 \xc2\x9b2J"\n\x1b[2J\n')
        answer = (ROOT / "lab/03-setnx/answer.c").read_bytes()
        Path(os.fsdecode(held)).write_bytes(answer.replace(b'"held"', b'"\\033[2J\\007\\r"'))
        for command in [["explore"], ["build"], ["check", "--chapters", ROOT / "lab"]]:
            done = self.run_tame("bin/lab", *command, broken)
            self.assertIn(b"03.c:1:2: error: ", done.stdout + done.stderr)
        self.run_tame("bin/lab", "explore", held)
        self.run_tame("bin/lab", "explore", held, "--faults", "pause,expiry")
        self.run_tame("bin/lab", "check", "--chapters", ROOT / "lab", held)


if __name__ == "__main__":
    unittest.main()
