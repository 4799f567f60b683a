"""Starts the system, sends requests, breaks it and reads its ledger, all from outside. Standard library only.

Each test file has a stack of its own (scripts/stack), on ports from TEST_PORT_BASE + 100 on, with the programs of $B/bin. It
reads the ledger with psql as superuser, and not through the services or loadgen.
"""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("B", "build/gcc")
# These tests do not judge how punctual the machine is: on one that stalls, most runs would be INCONCLUSIVE.
os.environ.setdefault("LOADGEN_LATE", "1s")
PORT_BASE = int(os.environ.get("TEST_PORT_BASE", "8700")) + 100
PORTS = {"order-svc": 0, "inventory-1": 1, "inventory-2": 2, **{f"redlock-{i}": 59 + i for i in range(1, 6)}, "replica-2": 66,
         **{f"cluster-{i}": 10 + i for i in range(1, 7)}, "pgbouncer": 68, **{f"zookeeper-{i}": 69 + i for i in (1, 2, 3)}, **{f"etcd-{i}": 82 + i for i in (1, 2, 3)},
         "postgres": 90, "redis": 91, "replica": 92}
ARTICLE_PRODUCT = "82391173-9dbc-49b6-821b-746a11dbbe5e"
LOST_UPDATES = "TWIN+LEAK?+STALE?"  # the anomalies of a strategy without a common lock while the stock lasts

# Debian's /usr/bin/psql is a Perl script that looks for the newest psql. That takes four times as long as most queries.
NEWEST = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))[-1]
os.environ["PATH"] = f"{NEWEST}:{os.environ['PATH']}"

TEMPLATE = os.environ.get("STACK_TEMPLATE")  # the RUN_DIR of a stopped stack, made by test/run

signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C: unittest continues after any other exception


def wait_for(what, condition, seconds=20):
    """Wait until condition() is true. Returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.05)  # many conditions call psql


def copy_template(run_dir):
    """Copies databases and their passwords for a stack that was never up. Without them `up` runs initdb."""
    if TEMPLATE:
        subprocess.run(["cp", "-a", f"{TEMPLATE}/env", f"{TEMPLATE}/postgres", run_dir], check=True)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Stack:
    def __init__(self, *shape, **flags):
        """shape: more arguments for `up`, for example "--with", "replica". flags: ORDER_SVC_FLAGS="...",
        INVENTORY_SVC_FLAGS="..." for the services, REDIS_DURABILITY="..."."""
        self.shape = shape
        self.run_dir = Path(tempfile.mkdtemp(prefix="sale-test-"))
        self.run_dir.chmod(0o755)  # Postgres does not run as root, but as another user
        copy_template(self.run_dir)
        # loadgen writes a results folder only if a test asks for one.
        self.env = dict({"LOADGEN_NO_RESULTS": "1"} | os.environ, PORT_BASE=str(PORT_BASE), RUN_DIR=str(self.run_dir),
                        B=BUILD, LOADGEN_STACK=str(ROOT / "scripts/stack"), **flags)

    def script(self, *args, check=True):
        done = subprocess.run(["scripts/stack", *args], cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"scripts/stack {' '.join(args)}: {done.stdout}{done.stderr}")
        return done

    def up(self):
        atexit.register(self.down)  # by an interrupted run
        try:
            self.script("up", *self.shape)
        except BaseException:
            self.down()
            raise
        shell = subprocess.run(["bash", "-c", f'set -a; source "{self.run_dir}/env"; env -0'], capture_output=True,
                               env={"PATH": os.environ["PATH"]}, check=True)
        self.settings = dict(pair.split("=", 1) for pair in shell.stdout.decode().split("\0") if "=" in pair)
        return self

    def down(self):
        atexit.unregister(self.down)
        try:
            self.script("down")
        finally:
            home = self.run_dir / "postgres"
            if home.is_symlink():
                shutil.rmtree(home.resolve(), ignore_errors=True)
            shutil.rmtree(self.run_dir, ignore_errors=True)

    def kill(self, name):
        self.script("kill", name)

    def restart(self, name):
        self.script("restart", name)

    def redis(self, *command, port=91, lines=()):
        """The output of redis-cli for a command, or for lines; the replica has port 92."""
        password = self.settings["INVENTORY_SVC_REDIS"].removeprefix("redis://:").partition("@")[0]
        done = subprocess.run(["redis-cli", "-p", str(PORT_BASE + port), *command], env=dict(os.environ, REDISCLI_AUTH=password),
                              input="\n".join(lines), capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    def states(self):
        """The state of each server by `status`: down, paused, ready or not ready."""
        return {line.split()[0]: line.split(None, 5)[5] for line in self.script("status", check=False).stdout.splitlines()}

    def log(self, name):
        return (self.run_dir / f"{name}.log").read_text()

    def port(self, name):
        return PORT_BASE + PORTS[name]

    def ask(self, method, path, body=None, headers=None, to="order-svc"):
        """Sends a request on a connection of its own. A dict becomes JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port(to), timeout=30)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=body, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def ask_ledger(self, method, path, body=None, to="inventory-1"):
        """Sends inventory-svc a request that needs the secret of the services."""
        return self.ask(method, path, body, {"Authorization": f"Bearer {self.settings['INVENTORY_SVC_SECRET']}"}, to)

    def raw(self, data, to="order-svc", half_close=False):
        """Sends bytes as they are. Returns the reply, up to the end of the connection or a while of silence."""
        with socket.create_connection(("127.0.0.1", self.port(to)), timeout=15) as peer:
            peer.sendall(data)
            if half_close:
                peer.shutdown(socket.SHUT_WR)
            reply = b""
            while not self._is_complete(reply):
                part = peer.recv(65536)
                if not part:
                    break
                reply += part
            return reply

    @staticmethod
    def _is_complete(reply):
        head, separator, body = reply.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        return bool(separator and length and len(body) >= int(length.group(1)))

    def sql(self, database, text, **values):
        """Runs a statement as superuser, and returns its rows. Values are psql variables (:'name')."""
        args = ["psql", f"{self.settings['TEST_PG']} dbname={database}", "-X", "-q", "-A", "-t", "-F", "\t",
                "-v", "ON_ERROR_STOP=1"]
        for name, value in values.items():
            args += ["-v", f"{name}={value}"]
        env = os.environ | {"PGOPTIONS": "-c idle_session_timeout=0"}
        done = subprocess.run(args, input=text, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{text}: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def value(self, database, text, **values):
        return int(self.sql(database, text, **values)[0][0])

    def product(self, strategy, stock=10):
        """Makes a product with this strategy spec. Returns its id."""
        product = str(uuid.uuid4())
        self.sql("inventory", "INSERT INTO product (product_id, name, price, initial_stock, strategy) "
                              "VALUES (:'id', 'test', 9.99, :stock, :'spec')", id=product, stock=stock, spec=strategy)
        return product

    def order(self, product, key=None):
        return self.ask("POST", "/orders", {"product_id": product}, {"Idempotency-Key": key} if key else None)

    def loadgen(self, *args, timeout=180, env=None, under=()):
        """Runs loadgen, `under` another program such as prlimit."""
        environment = dict(self.env, **{k: v for k, v in self.settings.items() if k.startswith("LOADGEN_")}, **(env or {}))
        return subprocess.run([*under, str(ROOT / BUILD / "bin/loadgen"), *args], cwd=ROOT, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)

    def start_loadgen(self, *args, under=()):
        environment = dict(self.env, **{k: v for k, v in self.settings.items() if k.startswith("LOADGEN_")})
        return subprocess.Popen([*under, str(ROOT / BUILD / "bin/loadgen"), *args], cwd=ROOT, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def disturb(self, disturbance, lengths, strategy, rate, share, *more):
        """Runs loadgen with stock for a share of the requests, and calls disturbance(run) meanwhile. Returns loadgen's summary and
        the value of the disturbance. If that is None, the run ended before the disturbance and shows nothing: then a run of the
        next length, in seconds, begins. loadgen does not know that a server is down, so it must not look for STUCK."""
        for seconds in lengths:
            with self.start_loadgen("--strategy", strategy, "-R", str(rate), "-d", f"{seconds}s", "--stock",
                                    str(int(rate * seconds * share)), "--timeout", "8s", "--drain", "30s", "--stuck-after",
                                    "1m", "--output-format", "json", *more) as run:
                try:
                    said = disturbance(run)
                    if said is not None:
                        output, errors = run.communicate(timeout=120)
                        return json.loads(output or errors)["strategies"][0], said
                finally:
                    run.kill()
        raise AssertionError("loadgen ended before the disturbance")


class Ledger:
    """The rows of one product in the two databases, by the test's own queries."""

    def __init__(self, stack, product):
        stock, *reservations = stack.sql("inventory", """
            SELECT initial_stock, (SELECT coalesce(sum(available), 0) FROM stock WHERE product_id = :'id'),
                   (SELECT count(*) FROM returned_unit WHERE product_id = :'id') FROM product WHERE product_id = :'id';
            SELECT order_id, unit FROM reservation WHERE product_id = :'id'""", id=product)
        orders = stack.sql("orders", "SELECT order_id, unit FROM orders WHERE product_id = :'id'", id=product)
        units = [int(unit) for _, unit in reservations]
        self.initial, self.available, self.returned = map(int, stock)
        self.sold, self.units = len(units), len(set(units))
        self.out_of_range = sum(unit not in range(1, self.initial + 1) for unit in units)
        self.orders = len(orders)
        self.unmatched = set(map(tuple, orders)) ^ set(map(tuple, reservations))
        self.twins = self.sold - self.units

    def check(self, case):
        """Asserts that no unit was sold twice or lost, and that each reservation has its order."""
        case.assertEqual(self.twins, 0, "units sold twice")
        case.assertEqual(self.out_of_range, 0, "units that do not exist")
        case.assertLessEqual(self.sold, self.initial, "oversold")
        case.assertEqual(self.available + self.returned + self.sold, self.initial, "units lost or made")
        case.assertEqual(self.unmatched, set(), "orders and reservations differ")


class SystemTest(unittest.TestCase):
    """All tests of a class share a stack; `shape` and `flags` go to Stack()."""

    shape = ()
    flags = {}

    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(*cls.shape, **cls.flags).up()

    @classmethod
    def tearDownClass(cls):
        cls.stack.down()

    def setUp(self):
        self.maxDiff = None
