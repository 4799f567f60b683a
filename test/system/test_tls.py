"""TLS to Redis and Postgres, with the test's own certificate authority: lockctl over each backend with TLS, and both services.

If hiredis has no TLS (Debian 12), rediss:// is refused with that reason.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, Stack, SystemTest, wait_for

BIN = ROOT / BUILD / "bin"
REDIS_TLS, ORDER_SVC, INVENTORY_SVC = (PORT_BASE + offset for offset in (40, 41, 42))
LAYOUTS = ("{}", "redis+string:{}", "redis+redisson:{}", "redlock:{}?quarantine=0")
HAS_REDIS_TLS = b"hiredis_ssl" in subprocess.run(["ldd", BIN / "lockctl"], capture_output=True, check=True).stdout

CA_CONF = """[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


class Authority:
    """Makes an authority with openssl, and certificates for servers, each as NAME.pem and NAME.key."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "index").touch()
        (folder / "ca.conf").write_text(CA_CONF.format(folder=folder))
        self.openssl("req", "-x509", *self.new_key("ca"), "-out", folder / "ca.pem", "-days", "2", "-subj", "/CN=an authority of a test")
        self.issue("right", "IP:127.0.0.1,DNS:localhost")
        self.issue("wrong-name", "DNS:elsewhere.test")
        self.issue("expired", "IP:127.0.0.1,DNS:localhost", ("20200101000000Z", "20200102000000Z"))
        self.openssl("req", "-x509", *self.new_key("untrusted"), "-out", folder / "untrusted.pem", "-days", "2", "-subj", "/CN=a stranger",
                     "-addext", "subjectAltName=IP:127.0.0.1")

    def openssl(self, *words):
        done = subprocess.run(["openssl", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"openssl {words}: {done.stderr}")

    def new_key(self, name):
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.folder / f"{name}.key"

    def issue(self, name, names, moments=None):
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        self.openssl("req", *self.new_key(name), "-out", request, "-subj", "/CN=a server")
        self.openssl("ca", "-batch", "-notext", "-config", self.folder / "ca.conf", "-in", request, "-out", self.folder / f"{name}.pem",
                     "-extfile", extensions, *(("-startdate", moments[0], "-enddate", moments[1]) if moments else ("-days", "2")))

    def own(self, owner):
        """Postgres accepts only a key that its own user owns."""
        for path in self.folder.iterdir():
            os.chown(path, owner.st_uid, owner.st_gid)


class Tls(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = Path(tempfile.mkdtemp(prefix="sale-tls-"))
        cls.folder.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.authority = Authority(cls.folder)
        data = Path(cls.stack.sql("scratch", "SHOW data_directory")[0][0])
        cls.authority.own(data.stat())
        cls.env = dict(os.environ, SSL_CERT_FILE=str(cls.folder / "ca.pem"))
        cls.env.pop("SSL_CERT_DIR", None)

    # ---- the servers

    def redis_shows(self, name):
        """Starts Redis on a port only for TLS, with this certificate."""
        files = [f"tls-{option}-file" for option in ("cert", "key", "ca-cert")]
        paths = [self.folder / f"{name}.pem", self.folder / f"{name}.key", self.folder / "ca.pem"]
        settings = [str(word) for pair in zip(files, paths) for word in pair]
        self.assertEqual(self.stack.redis("CONFIG", "SET", "tls-auth-clients", "no", *settings, "tls-port", str(REDIS_TLS)), "OK")

    def postgres_shows(self, name):
        self.stack.sql("scratch", f"ALTER SYSTEM SET ssl_cert_file = '{self.folder / name}.pem';\n"
                                  f"ALTER SYSTEM SET ssl_key_file = '{self.folder / name}.key';\n"
                                  "ALTER SYSTEM SET ssl = on;\nSELECT pg_reload_conf();")
        wait_for(f"Postgres with {name}", lambda: self.certificate_of_postgres() == self.certificate(self.folder / f"{name}.pem"))

    def postgres_shows_none(self):
        self.stack.sql("scratch", "ALTER SYSTEM SET ssl = off;\nSELECT pg_reload_conf();")
        wait_for("Postgres without TLS", lambda: not self.certificate_of_postgres())

    @staticmethod
    def certificate(path):
        return path.read_text().strip()

    def certificate_of_postgres(self):
        done = subprocess.run(["openssl", "s_client", "-starttls", "postgres", "-connect", f"127.0.0.1:{self.stack.port('postgres')}"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        start, begin, rest = done.stdout.partition("-----BEGIN CERTIFICATE-----")
        body, end, _ = rest.partition("-----END CERTIFICATE-----")
        return begin + body + end

    # ---- the clients

    def redis_url(self, scheme="rediss", port=REDIS_TLS):
        password = self.stack.settings["INVENTORY_SVC_REDIS"].removeprefix("redis://").partition("@")[0]
        return f"{scheme}://{password}@127.0.0.1:{port}"

    def postgres_url(self, setting, mode="verify-full"):
        return f"{self.stack.settings[setting]}?sslmode={mode}&sslrootcert={self.folder / 'ca.pem'}"

    def lockctl(self, url, *command):
        return subprocess.run([BIN / "lockctl", "run", "--wait", "3s", url, "a-name", "--", *command], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def assert_held(self, url):
        done = self.lockctl(url, "echo", "held")
        self.assertEqual((done.stdout, done.returncode), ("held\n", 0), done.stderr)

    def assert_told(self, url, *reasons):
        done = self.lockctl(url, "true")
        self.assertNotEqual(done.returncode, 0)
        self.assert_reason(done.stderr, *reasons)

    def assert_reason(self, text, *reasons):
        self.assertTrue(any(reason in text for reason in reasons), f"none of {reasons} in {text}")
        self.assertNotIn("Success", text)

    def start(self, name, *flags, **settings):
        """Starts one service with these settings; its log is a file."""
        log = self.folder / f"{name}-{self._testMethodName}.log"
        with log.open("w") as out:
            process = subprocess.Popen([BIN / name, *flags], env=dict(self.env, **settings), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, log

    def start_inventory(self, redis, postgres):
        return self.start("inventory-svc", "--port", str(INVENTORY_SVC), "--name", "inventory-tls", INVENTORY_SVC_REDIS=redis,
                          INVENTORY_SVC_DB=postgres, INVENTORY_SVC_SECRET=self.stack.settings["INVENTORY_SVC_SECRET"])

    def start_orders(self, postgres):
        return self.start("order-svc", "--port", str(ORDER_SVC), "--inventory", f"http://127.0.0.1:{INVENTORY_SVC}", ORDER_SVC_DB=postgres,
                          ORDER_SVC_INVENTORY_SECRET=self.stack.settings["INVENTORY_SVC_SECRET"])

    # ---- Redis

    @unittest.skipUnless(HAS_REDIS_TLS, "this build has no TLS to Redis")
    def test_locks_are_held_over_tls_to_redis(self):
        self.redis_shows("right")
        for layout in LAYOUTS:
            with self.subTest(layout):
                self.assert_held(layout.format(self.redis_url()))
        self.assert_held(self.redis_url().replace("127.0.0.1", "localhost"))

    @unittest.skipUnless(HAS_REDIS_TLS, "this build has no TLS to Redis")
    def test_why_a_redis_is_not_trusted_is_told(self):
        for name, reason in (("wrong-name", "mismatch"), ("untrusted", "self-signed certificate"), ("expired", "certificate has expired")):
            self.redis_shows(name)
            for layout in LAYOUTS:
                with self.subTest(name, layout=layout):
                    self.assert_told(layout.format(self.redis_url()), reason)

    @unittest.skipUnless(HAS_REDIS_TLS, "this build has no TLS to Redis")
    def test_a_redis_without_tls_is_told(self):
        """The server may take the greeting for an incomplete command, and answer nothing."""
        self.assert_told(self.redis_url(port=self.stack.port("redis")), "does the server speak")

    def test_a_redis_with_tls_alone_is_told(self):
        self.redis_shows("right")
        self.assert_told(self.redis_url("redis"), "use rediss://", "Server closed the connection", "Connection reset by peer")

    @unittest.skipIf(HAS_REDIS_TLS, "this build has TLS to Redis")
    def test_a_build_without_tls_to_redis_says_so(self):
        for layout in LAYOUTS:
            with self.subTest(layout):
                self.assert_told(layout.format(self.redis_url()), "this build has no TLS")
        process, log = self.start_inventory(self.redis_url(), self.stack.settings["INVENTORY_SVC_DB"])
        self.assertNotEqual(process.wait(30), 0)
        self.assert_reason(log.read_text(), "this build has no TLS")

    # ---- Postgres

    def test_locks_are_held_over_tls_to_postgres(self):
        self.postgres_shows("right")
        for mode in ("session", "table"):
            with self.subTest(mode):
                self.assert_held(f"{self.postgres_url('INVENTORY_SVC_DB')}&mode={mode}")

    def test_why_a_postgres_is_not_trusted_is_told(self):
        for name, reason in (("wrong-name", "does not match host name"), ("untrusted", "certificate verify failed"),
                             ("expired", "certificate verify failed")):
            self.postgres_shows(name)
            for mode in ("session", "table"):
                with self.subTest(name, mode=mode):
                    self.assert_told(f"{self.postgres_url('INVENTORY_SVC_DB')}&mode={mode}", reason)

    def test_a_postgres_without_tls_is_told(self):
        self.postgres_shows_none()
        self.assert_told(f"{self.postgres_url('INVENTORY_SVC_DB')}&mode=table", "does not support SSL")

    def test_a_postgres_with_tls_alone_is_told(self):
        self.postgres_shows("right")
        rules = Path(self.stack.sql("scratch", "SHOW hba_file")[0][0])
        before = rules.read_text()
        self.addCleanup(self.stack.sql, "scratch", "SELECT pg_reload_conf()")
        self.addCleanup(rules.write_text, before)
        rules.write_text(f"hostnossl all inventory_svc all reject\n{before}")
        self.stack.sql("scratch", "SELECT pg_reload_conf()")
        url = f"{self.postgres_url('INVENTORY_SVC_DB', 'disable')}&mode=table"
        wait_for("the rules", lambda: self.lockctl(url, "true").returncode != 0)
        self.assert_told(url, "no encryption")

    # ---- the services

    def is_ready(self, process, log, port):
        self.assertIsNone(process.poll(), log.read_text())
        return subprocess.run(["curl", "-fs", "-o", "/dev/null", f"http://127.0.0.1:{port}/readyz"]).returncode == 0

    def test_an_order_is_sold_over_tls(self):
        self.postgres_shows("right")
        redis = self.stack.settings["INVENTORY_SVC_REDIS"]
        if HAS_REDIS_TLS:
            self.redis_shows("right")
            redis = self.redis_url()
        product = self.stack.product("redis", stock=1)
        services = [(*self.start_inventory(redis, self.postgres_url("INVENTORY_SVC_DB")), INVENTORY_SVC),
                    (*self.start_orders(self.postgres_url("ORDER_SVC_DB")), ORDER_SVC)]
        for service in services:
            wait_for("the services", lambda: self.is_ready(*service))
        answer = subprocess.run(["curl", "-s", f"http://127.0.0.1:{ORDER_SVC}/orders", "-H", "Content-Type: application/json", "-d",
                                 f'{{"product_id": "{product}"}}', "-w", "%{http_code}"], capture_output=True, text=True)
        self.assertEqual(answer.stdout[-3:], "201", answer.stdout)
        self.assertEqual(self.stack.sql("scratch", "SELECT DISTINCT a.usename FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) "
                                                   "WHERE s.ssl AND a.usename LIKE '%svc' ORDER BY 1"), [["inventory_svc"], ["order_svc"]])
        if HAS_REDIS_TLS:
            self.assertIn(f"laddr=127.0.0.1:{REDIS_TLS} ", self.stack.redis("CLIENT", "LIST"))

    def test_an_untrusted_server_is_named_in_the_log(self):
        self.postgres_shows("expired")
        redis = self.stack.settings["INVENTORY_SVC_REDIS"]
        if HAS_REDIS_TLS:
            self.redis_shows("expired")
            redis = self.redis_url()
        for start in (lambda: self.start_inventory(redis, self.postgres_url("INVENTORY_SVC_DB")),
                      lambda: self.start_orders(self.postgres_url("ORDER_SVC_DB"))):
            process, log = start()
            wait_for(f"the reason in {log}", lambda: "certificate verify failed" in log.read_text())
            self.assertNotIn("Success", log.read_text())
        if HAS_REDIS_TLS:
            log = self.folder / f"inventory-svc-{self._testMethodName}.log"
            wait_for("the other reason", lambda: "the server's certificate is not accepted: certificate has expired" in log.read_text())


if __name__ == "__main__":
    unittest.main()
