"""loadgen serve: the pages of results folders, and requests that it refuses."""

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

from harness import BUILD, ROOT, Answer, wait_for

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
SECRET = "not for the eyes of browsers"
STRATEGY = {"strategy": "redis,ttl=2s", "verdict": "VALID", "as_expected": True, "sold": 1000, "stock": 1000,
            "anomalies": [], "latency_ms": {"p99": 12.5}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_run(root, folder, **summary):
    path = root / folder
    path.mkdir(parents=True)
    content = {"name": "", "started_at": "2026-11-21T10:01:02Z", "exit_code": 0, "strategies": [STRATEGY], **summary}
    (path / "summary.json").write_text(json.dumps(content))
    (path / "report.html").write_text("<!doctype html><title>report</title>")
    (path / "violations.txt").write_text("none\n")
    return path


class Viewer:
    def __init__(self, *args, cwd=ROOT):
        self.port = free_port()
        self.process = subprocess.Popen([PROGRAM, "serve", *args, "--port", str(self.port)], cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline()

    def get(self, path, method="GET", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, headers={"Host": host} if host else {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.rest, self.errors = self.process.communicate(timeout=20)
        return self.process.returncode


class ServeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sale-serve-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = self.folder / "results"
        self.root.mkdir()
        (self.folder / "summary.json").write_text(SECRET)

    def serve(self, *args):
        viewer = Viewer(*(args or [str(self.root)]))
        self.addCleanup(viewer.end)
        return viewer

    def test_the_index_lists_runs_newest_first(self):
        make_run(self.root, "20261121T100102Z-old", name="the old one")
        make_run(self.root, "20261122T100102Z-new", name="the new one", command="loadgen --strategy 'redis,ttl=2s'",
                 strategies=[STRATEGY, {**STRATEGY, "strategy": "none", "verdict": "VIOLATED", "as_expected": False, "sold": 1057,
                                        "anomalies": [{"name": "OVERSELL", "count": 57}], "latency_ms": {"p99": 1200}}])
        (self.root / "latest").symlink_to("20261122T100102Z-new")
        make_run(self.root, "20261120T100102Z-cut", is_interrupted=True, is_left_down=True, exit_code=130,
                 thresholds=[{"text": "p(99)<1ms", "strategy": "redis", "measured": 12.5, "holds": False},
                             {"text": "oversell==0", "strategy": "redis", "measured": 0, "holds": True}])
        page = self.serve().get("/")
        self.assertEqual(page.status, 200)
        self.assertEqual(page.headers["Content-Type"], "text/html; charset=utf-8")
        self.assertNotIn("script", page.headers["Content-Security-Policy"])
        self.assertLess(page.text.index("the new one"), page.text.index("the old one"))
        for part in ["3 in ", "exit code 130 &middot; interrupted &middot; ended early", "threshold missed: p(99)&lt;1ms, redis",
                     "<span class=\"verdict VALID\">VALID</span>", "<span class=\"verdict VIOLATED\">VIOLATED</span>",
                     "OVERSELL 57", "1057 / 1000", "1.2 s", "12 ms", "NO</td>", "2026-11-21 10:01:02 UTC", "exit code 0",
                     "loadgen --strategy &#39;redis,ttl=2s&#39;", "href=\"/runs/20261122T100102Z-new/report.html\"",
                     "href=\"/runs/20261122T100102Z-new/violations.txt\""]:
            self.assertIn(part, page.text)
        self.assertNotIn("history.ndjson", page.text)
        self.assertNotIn("/latest", page.text)
        self.assertNotIn("oversell==0", page.text)

    def test_the_stock_is_that_of_all_rounds_and_products(self):
        make_run(self.root, "run-1", settings={"items": 4}, strategies=[{**STRATEGY, "rounds": [{}] * 3}])
        make_run(self.root, "run-2", strategies=[{**STRATEGY, "verdict": "not judged", "sold": 0}])
        page = self.serve().get("/").text
        self.assertIn("1000 / 12000</td>", page)
        self.assertIn("not judged</span></td><td></td><td class=\"number\">-</td>", page)

    def test_a_shop_is_named_with_its_version_and_settings(self):
        make_run(self.root, "run-1", shop={"name": "Vendure", "version": "3.7.3", "config": "row locks", "processes": 2}, strategies=[STRATEGY])
        page = self.serve().get("/").text
        self.assertIn("<p>Vendure 3.7.3, row locks, processes: 2</p>", page)
        self.assertIn("<tr><th>shop</th>", page)
        self.assertNotIn("<th>strategy</th>", page)

    def test_texts_of_runs_are_escaped(self):
        evil = "<script>alert(\"1\")</script>&'"
        make_run(self.root, "20261121T100102Z-evil", name=evil, command=evil, started_at=evil,
                 shop={"name": evil, "version": evil, "config": evil, "processes": 1},
                 strategies=[{"strategy": evil, "verdict": evil, "anomalies": [{"name": evil, "count": 1}]}])
        (self.root / "<script>").mkdir()
        page = self.serve().get("/").text
        self.assertNotIn("<script", page)
        self.assertEqual(page.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;"), 9)

    def test_files_have_their_content_types(self):
        run = make_run(self.root, "run-1")
        types = {"report.html": "text/html; charset=utf-8", "summary.json": "application/json",
                 "violations.txt": "text/plain; charset=utf-8", "history.ndjson": "application/x-ndjson",
                 "latency.hlog": "text/plain; charset=utf-8", "rounds.csv": "text/csv; charset=utf-8",
                 "env.json": "application/json"}
        viewer = self.serve()
        for name, content_type in types.items():
            (run / name).write_text(f"the content of {name}")
            answer = viewer.get(f"/runs/run-1/{name}")
            self.assertEqual((answer.status, answer.text), (200, f"the content of {name}"))
            self.assertEqual(answer.headers["Content-Type"], content_type)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            policy = answer.headers["Content-Security-Policy"].split("; ")
            self.assertIn("default-src 'none'", policy)
            self.assertIn("sandbox allow-scripts allow-modals", policy)
        head = viewer.get("/runs/run-1/report.html", method="HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(viewer.get("/", method="POST").status, 405)

    def test_nothing_else_of_the_disk_is_served(self):
        run = make_run(self.root, "run-1")
        (run / "secret.txt").write_text(SECRET)
        (run / "env.json").symlink_to(self.folder / "summary.json")
        (run / "rounds.csv").mkdir()
        os.mkfifo(run / "latency.hlog")
        (self.root / "away").symlink_to(self.folder)
        (self.root / ".hidden").mkdir()
        (self.root / ".hidden/summary.json").write_text(SECRET)
        viewer = self.serve()
        for path in ["/runs/run-1/secret.txt", "/runs/run-1/env.json", "/runs/run-1/rounds.csv", "/runs/run-1/latency.hlog",
                     "/runs/away/summary.json", "/runs/.hidden/summary.json", "/runs/../summary.json", "/../summary.json",
                     "/runs/%2e%2e/summary.json", "/runs/..%2f..%2f/summary.json", "/runs/run-1/..%2f..%2fsummary.json",
                     "/runs/run-1%2f..%2f../summary.json", "/runs/./summary.json", "/runs//summary.json", "/runs/run-1/",
                     "/runs/run-1", "/runs", "/summary.json", "/runs/run-2/summary.json", "/runs/run-1/summary.json%00.txt",
                     "//etc/passwd", "/runs/%2fetc/passwd", "/runs/run-1/%2fetc%2fpasswd"]:
            answer = viewer.get(path)
            self.assertIn(answer.status, (400, 404), path)
            self.assertNotIn(SECRET, answer.text, path)
        page = viewer.get("/").text
        self.assertNotIn("away", page)
        self.assertNotIn("hidden", page)
        self.assertNotIn("secret", page)

    def test_a_host_that_is_no_address_is_refused(self):
        make_run(self.root, "run-1")
        viewer = self.serve()
        for host in ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]:80",
                     "[::1].evil.example", "localhost:evil.example"]:
            for path in ["/", "/runs/run-1/summary.json", "/nowhere"]:
                self.assertEqual(viewer.get(path, host=host).status, 421, host)
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", f"127.0.0.1:{viewer.port}", "[::1]:8080", "192.0.2.7"]:
            self.assertEqual(viewer.get("/", host=host).status, 200, host)

    def test_a_broken_summary_does_not_break_the_index(self):
        make_run(self.root, "good", name="the good one")
        for name, content in {"half": "{\"name\": \"x", "list": "[]", "empty": "", "deep": "[" * 100000,
                              "odd": "{\"strategies\": [1, {\"latency_ms\": 7, \"anomalies\": {}}, null], \"name\": 4}"}.items():
            (self.root / name).mkdir()
            (self.root / name / "summary.json").write_text(content)
        (self.root / "nul").mkdir()
        (self.root / "nul/summary.json").write_bytes(b"{\"a\": \x00\xff}")
        (self.root / "missing").mkdir()
        viewer = self.serve()
        page = viewer.get("/").text
        self.assertIn("the good one", page)
        self.assertEqual(page.count("summary.json is broken"), 5)
        self.assertIn("nested too deeply", page)
        self.assertIn("no summary.json: the run still goes on, or it ended early", page)
        self.assertTrue(page.endswith("</html>\n"))
        self.assertEqual(viewer.get("/runs/half/summary.json").text, "{\"name\": \"x")

    def test_a_large_file_arrives_whole(self):
        run = make_run(self.root, "run-1")
        content = os.urandom(1024 * 1024) * 70
        (run / "history.ndjson").write_bytes(content)
        self.assertEqual(self.serve().get("/runs/run-1/history.ndjson").body, content)

    def test_downloads_that_stall_hold_little_memory(self):
        run = make_run(self.root, "run-1")
        with open(run / "history.ndjson", "wb") as history:
            history.truncate(64 * 1024 * 1024)
        viewer = self.serve()
        for _ in range(30):
            browser = socket.create_connection(("127.0.0.1", viewer.port))
            self.addCleanup(browser.close)
            browser.sendall(b"GET /runs/run-1/history.ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(browser.recv(15), b"HTTP/1.1 200 OK")
        self.assertEqual(viewer.get("/").status, 200)
        resident_kb = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{viewer.process.pid}/status").read_text()).group(1)
        self.assertLess(int(resident_kb), 50 * 1024)

    def test_many_runs_take_several_pages(self):
        for number in range(205):
            make_run(self.root, f"run-{number:03}")
        viewer = self.serve()
        first, second, third = (viewer.get(path).text for path in ["/", "/?from=100", "/?from=200"])
        self.assertEqual([page.count("<article>") for page in (first, second, third)], [100, 100, 5])
        self.assertIn("run-204", first)
        self.assertIn("href=\"/?from=100\">older", first)
        self.assertIn("href=\"/?from=0\">newer", second)
        self.assertNotIn("older", third)
        for odd in ["9999999999999999999999", "-1", "x", ""]:
            self.assertEqual(viewer.get(f"/?from={odd}").status, 200)

    def test_an_empty_folder_says_what_to_do(self):
        viewer = self.serve()
        self.assertIn("No run yet", viewer.get("/").text)
        make_run(self.root, "run-1")
        self.assertIn("run-1", viewer.get("/").text)
        shutil.rmtree(self.root)
        page = viewer.get("/")
        self.assertEqual(page.status, 200)
        self.assertIn("cannot be read: No such file", page.text)
        self.assertEqual(viewer.get("/runs/run-1/summary.json").status, 404)

    def fails(self, code, text, *args):
        done = subprocess.run([PROGRAM, "serve", *args], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=20)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_serve_names_each_reason_not_to_start(self):
        self.fails(66, "is no folder of results", str(self.root / "nowhere"))
        self.fails(66, "is no folder of results", str(self.folder / "summary.json"))
        self.fails(64, "is a single run", str(make_run(self.root, "run-1")))
        self.fails(69, "not an address to listen on", str(self.root), "--listen", "nowhere")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.fails(69, "is taken by another program", str(self.root), "--port", str(taken.getsockname()[1]))

    def test_signals_end_it_in_good_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            viewer = self.serve()
            self.assertEqual(viewer.said, f"listening on http://127.0.0.1:{viewer.port}/ ; Ctrl-C ends\n")
            idle = socket.create_connection(("127.0.0.1", viewer.port))
            self.assertEqual(viewer.get("/").status, 200)
            self.assertEqual(viewer.end(number), 0)
            self.assertEqual(viewer.rest, "")
            self.assertNotIn("loadgen", viewer.errors)
            idle.close()

    def test_the_folder_may_come_from_the_settings(self):
        make_run(self.root, "run-1")
        viewer = self.serve("--results", str(self.root))
        wait_for("the run", lambda: "run-1" in viewer.get("/").text)


if __name__ == "__main__":
    unittest.main()
