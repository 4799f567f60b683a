"""The adapters of lockjudge: each speaks the line protocol with its library on real servers. An adapter without its library is
skipped, with its own words."""

import json
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import BUILD, ROOT, Stack

FOLDER = ROOT / "lockjudge/adapters"
ADAPTERS = json.loads((FOLDER / "adapters.json").read_text())
CAPS = {"ttl", "fence", "renew", "fair", "told", "reentrant", "shared", "fork", "load"}
TTL_MS = 30_000  # no stall of the machine lasts so long
PATIENCE = 180  # seconds for an answer: ioredis gives up after 10 s, and redlock asks it several times
SERVERS = ["redis", *(f"redlock-{i}" for i in range(1, 6)), "pgbouncer", "postgres", "zookeeper-1", "etcd-1"]
OWN = {"lockkit", "Debian coreutils", "Debian redis-tools"}  # no library can be missing
# These wait for their server until WAIT_MS is over, and then have the same answer as for a lock that is held.
BUSY_WITHOUT_SERVER = {"simple-redis-mutex", "etcdctl"}


class Missing(Exception):
    """The library is not there; the text is the adapter's."""


class Worker:
    def __init__(self, adapter, url):
        program, *args = (word.replace("{url}", url) for word in adapter["command"])
        self.name, self.lines = adapter["name"], queue.Queue()
        path = FOLDER / program if (FOLDER / program).exists() else ROOT / BUILD / "bin" / program
        self.process = subprocess.Popen([path, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, bufsize=1, start_new_session=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        try:
            ready = self.line()
            if ready is None:
                raise Missing(self.process.stderr.read().strip())
            assert re.fullmatch(r"ready( caps=[a-z,]+)?", ready), ready
            self.caps = set(ready[11:].split(",")) - {""}
            assert self.caps <= CAPS, ready
        except BaseException:
            self.end()
            raise

    def read(self):
        for line in self.process.stdout:
            if not line.startswith("!"):
                self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self):
        try:
            return self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"{self.name} did not answer for {PATIENCE} s") from None

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        answer = self.line()
        if answer is None:
            raise AssertionError(f"{self.name} ended at {request!r}: {self.process.stderr.read()}")
        return answer

    def acquire(self, name, wait_ms):
        # Each adapter has names of its own: some libraries share a wire format.
        return self.ask(f"acquire {self.name}-{name} {TTL_MS} {wait_ms}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for pipe in self.process.stdin, self.process.stdout, self.process.stderr:
            pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Adapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack("servers", "--with", "redlock,zookeeper,etcd,pgbouncer").up()
        cls.folder = tempfile.mkdtemp(prefix="sale-adapters-")
        settings = cls.stack.settings
        cls.urls = {"redis": settings["INVENTORY_SVC_REDIS"], "redlock": re.sub("^redlock:|[?].*", "", settings["INVENTORY_SVC_REDLOCK"]),
                    "postgres": settings["INVENTORY_SVC_DB"],
                    "pgbouncer": settings["INVENTORY_SVC_POOLER"], "zookeeper": f"127.0.0.1:{cls.stack.port('zookeeper-1')}",
                    "etcd": f"http://127.0.0.1:{cls.stack.port('etcd-1')}", "folder": cls.folder}

    @classmethod
    def tearDownClass(cls):
        cls.stack.down()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def each(self, check):
        """Runs check(adapter) for all at the same time: most of them wait. Reports each one alone."""
        with ThreadPoolExecutor(len(ADAPTERS)) as pool:
            checks = [(adapter, pool.submit(check, adapter)) for adapter in ADAPTERS]
        for adapter, done in checks:
            with self.subTest(adapter["name"]):
                try:
                    done.result()
                except Missing as error:
                    self.skipTest(str(error))

    def start(self, adapter):
        url = self.urls[adapter["server"]]
        url = adapter.get("url", "{url}").format(url=url, address=url.rpartition("/")[2])
        return Worker(adapter, url.replace("longest=2000", "quarantine=0"))  # for our TTL, and for servers that forget nothing

    def speak(self, adapter):
        with self.start(adapter) as first, self.start(adapter) as second:
            held = first.acquire("stock", 10_000)
            self.assertRegex(held, r"^held [1-9][0-9]*$" if "fence" in first.caps else "^held -$")
            self.assertEqual(first.ask("check"), "held")
            if adapter["name"] != "set-nx":  # wrong on purpose: it believes at any time that it holds the lock
                self.assertEqual(second.ask("check"), "lost")
            if adapter["name"] != "psql-pgbouncer":  # both may have one session of Postgres
                self.assertEqual(second.acquire("stock", 0), "busy")
                self.assertEqual(second.acquire("stock", 300), "busy")
            self.assertRegex(second.acquire("other", 10_000), "^held ")
            self.assertEqual(second.ask("release"), "released")
            self.assertEqual(first.ask("release"), "released")
            if adapter["name"] != "set-nx":
                self.assertEqual(first.ask("check"), "lost")
            self.assertRegex(second.acquire("stock", 10_000), "^held ")
            self.assertEqual(second.ask("release"), "released")
            for worker in first, second:
                worker.process.stdin.close()
                self.assertEqual(worker.process.wait(PATIENCE), 0)

    def test_each_speaks_the_protocol(self):
        self.each(self.speak)

    def bear(self, adapter):
        with self.start(adapter) as worker:
            if "load" not in worker.caps:
                return
            self.assertRegex(worker.acquire("loaded", 10_000), "^held ")
            self.assertEqual(worker.ask(f"load {adapter['name']}-load 20 {TTL_MS} 300"), "loaded")
            self.assertEqual(worker.ask("check"), "held")
            self.assertRegex(worker.ask("release"), "^(released|error .+)$")  # a loaded server may answer too late

    def test_each_bears_other_acquires_on_its_client(self):
        self.each(self.bear)

    def judge(self, name, rows):
        """The rows of lockjudge. A run that the machine disturbed is repeated."""
        adapter = next(adapter for adapter in ADAPTERS if adapter["name"] == name)
        program, *args = adapter["command"]
        path = FOLDER / program if (FOLDER / program).exists() else ROOT / BUILD / "bin" / program
        url = self.urls[adapter["server"]]
        for _ in range(5):
            done = subprocess.run([ROOT / BUILD / "bin/lockjudge", "--json", "-f", rows, "-u",
                                   adapter.get("url", "{url}").format(url=url, address=url.rpartition("/")[2]), "--expect",
                                   "all=safe|fenced|told|untold|not-asked", "--", path, *args], capture_output=True, text=True)
            if done.returncode == 69:
                self.skipTest(done.stderr.strip())
            if done.returncode != 2:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return {row["fault"]: row for row in json.loads(done.stdout)["rows"]}

    def test_the_child_of_a_holder_believes_unless_the_library_knows_of_it(self):
        """A parent that stalls can hide its child in one run. No stall makes one."""
        for name in "redis-py", "flock", "mkdir", "set-nx", "kazoo":
            with self.subTest(name):
                for _ in range(5):
                    row = self.judge(name, "fork-held")["fork-held"]
                    if row["verdict"] == "untold":
                        break
                self.assertEqual(row["verdict"], "untold")
                self.assertIn("TWIN-UNAWARE", [found["word"] for found in row["found"]])
        for name in "lockkit-redis", "lockkit-file":
            with self.subTest(name):
                rows = self.judge(name, "fork-held,fork-free-held")
                self.assertEqual({row["verdict"] for row in rows.values()}, {"safe"})

    def test_the_clock_of_a_program_in_go_cannot_be_moved(self):
        row = self.judge("etcdctl", "behind-held")["behind-held"]
        self.assertEqual((row["verdict"], row["reason"]),
                         ("not-asked", 'the wall clock of "etcdctl" cannot be moved: it does not read it by libc'))

    def hand_over(self, adapter):
        with self.start(adapter) as first, self.start(adapter) as second, ThreadPoolExecutor(1) as pool:
            self.assertRegex(first.acquire("hand-over", 10_000), "^held ")
            waiter = pool.submit(second.acquire, "hand-over", 50_000)
            self.assertEqual(first.ask("release"), "released")
            self.assertRegex(waiter.result(), "^held ")

    def test_a_waiter_gets_the_lock(self):
        self.each(self.hand_over)

    def ask_in_vain(self, adapter):
        if adapter["name"] in ("lockkit-file", "lockkit-mkdir"):
            return  # they make a missing folder again
        with self.start(adapter) as worker:
            if adapter["name"] in BUSY_WITHOUT_SERVER:
                self.assertEqual(worker.acquire("stock", 500), "busy")
            else:
                self.assertRegex(worker.acquire("stock", 0), "^error .")

    def test_without_its_server_it_says_error(self):
        for server in SERVERS:
            self.stack.kill(server)
        shutil.move(self.folder, self.folder + "-away")
        try:
            self.each(self.ask_in_vain)
        finally:
            shutil.move(self.folder + "-away", self.folder)
            self.stack.script("start")

    def acquire_before(self, adapter, workers):
        worker = self.start(adapter)
        workers.append(worker)
        self.assertRegex(worker.acquire("outage", 10_000), "^held ")
        self.assertEqual(worker.ask("release"), "released")

    def test_it_answers_when_its_server_was_away_and_is_back(self):
        workers = []
        self.each(lambda adapter: self.acquire_before(adapter, workers))
        try:
            for server in SERVERS:
                self.stack.kill(server)
            with ThreadPoolExecutor(len(workers)) as pool:
                # Each acquire begins without a server. Some libraries answer only when it is back.
                asked = [(worker, pool.submit(worker.acquire, "outage", 1000)) for worker in workers]
                self.stack.script("start")
            for worker, answer in asked:
                with self.subTest(worker.name):
                    self.assertRegex(answer.result(), "^(held|busy|error) ?")
        finally:
            for worker in workers:
                worker.end()

    def test_without_its_library_it_ends_with_one_line(self):
        empty = tempfile.mkdtemp(prefix="sale-no-library-")
        self.addCleanup(shutil.rmtree, empty)
        for program in sorted({adapter["command"][0] for adapter in ADAPTERS if adapter["package"] not in OWN}):
            with self.subTest(program):
                shutil.copy(FOLDER / program, empty)
                for part in FOLDER.glob("*.js"):
                    shutil.copy(part, empty)
                command = {".py": ["/usr/bin/python3", "-S", "-E"], ".js": [shutil.which("node") or "/usr/bin/node"],
                           ".sh": ["/bin/bash"]}[program[-3:]]
                done = subprocess.run([*command, program, "redlock", "url"], cwd=empty, env={"PATH": empty},
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, rf"\A{program}: [^\n]+\n\Z")
                self.assertEqual(done.stdout, "")

    def test_lockkit_refuses_an_input_that_is_no_pipe(self):
        for name in "/dev/null", "/etc/passwd":
            with open(name) as file:
                done = subprocess.run([ROOT / BUILD / "bin/lockjudge-lockkit", "local:"], stdin=file, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertRegex(done.stderr, r"\Alockjudge-lockkit: its standard input must be a pipe[^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
