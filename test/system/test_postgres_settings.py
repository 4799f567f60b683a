"""Settings of a server, a database, a role or the environment change no result. /readyz reports a database that is read only,
or that lacks a table or a right; once it can, it sells again."""

import json
import os
import subprocess
import unittest
import urllib.request
import uuid

from harness import BUILD, PORT_BASE, ROOT, Ledger, SystemTest, wait_for

HOSTILE = {
    "default_transaction_isolation": "'serializable'", "default_transaction_deferrable": "on", "DateStyle": "'SQL, DMY'",
    "TimeZone": "'Asia/Kolkata'", "IntervalStyle": "'sql_standard'", "bytea_output": "'escape'", "extra_float_digits": "-15",
    "standard_conforming_strings": "off", "escape_string_warning": "off", "search_path": "'nowhere'", "row_security": "off",
    "statement_timeout": "'1ms'", "lock_timeout": "'1ms'", "idle_session_timeout": "'50ms'",
    "idle_in_transaction_session_timeout": "'1ms'", "client_encoding": "'LATIN1'", "synchronous_commit": "off",
    "lc_messages": "'C.UTF-8'", "array_nulls": "off", "enable_indexscan": "off",
}

# Only for the roles of the services: on a busy machine the tests' own statements take longer.
SINCE_17 = {"transaction_timeout": "'20ms'"}

# libpq's variables, in a shell that works with another Postgres.
ENVIRONMENT = {
    "PGHOSTADDR": "127.0.0.9", "PGHOST": "127.0.0.9", "PGPORT": "1", "PGUSER": "nobody", "PGPASSWORD": "nothing",
    "PGDATABASE": "nowhere", "PGSERVICE": "nowhere", "PGSERVICEFILE": "/nowhere", "PGSYSCONFDIR": "/nowhere",
    "PGPASSFILE": "/nowhere", "PGSSLMODE": "require", "PGREQUIRESSL": "1", "PGCHANNELBINDING": "require",
    "PGTARGETSESSIONATTRS": "read-only", "PGOPTIONS": "-c default_transaction_read_only=on", "PGDATESTYLE": "SQL,DMY",
    "PGTZ": "Asia/Shanghai", "PGGEQO": "off", "PGCONNECT_TIMEOUT": "1", "PGAPPNAME": "another", "PGCLIENTENCODING": "LATIN1",
    "PGGSSENCMODE": "require", "PGREQUIREPEER": "nobody", "PGSSLROOTCERT": "/nowhere",
}


class Settings(SystemTest):
    flags = {"ORDER_SVC_FLAGS": "--settle-after 1s --settle-every 100ms"}
    services = ["inventory-1", "inventory-2", "order-svc"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        known = cls.stack.sql("postgres", "SELECT name FROM pg_settings WHERE name = 'transaction_timeout'")
        for name, value in (HOSTILE | SINCE_17 if known else HOSTILE).items():
            for database, roles in [("inventory", ["inventory_svc", "loadgen"]), ("orders", ["order_svc", "loadgen"])]:
                if name not in SINCE_17:
                    cls.stack.sql("postgres", f"ALTER DATABASE {database} SET {name} = {value}")
                for role in roles:
                    cls.stack.sql("postgres", f"ALTER ROLE {role} IN DATABASE {database} SET {name} = {value}")
        for name in cls.services:
            cls.stack.restart(name)

    # The settings hold for the superuser's sessions as well.
    def sql(self, database, text, **values):
        return self.stack.sql(database, "SET search_path = public; SET statement_timeout = 0; SET lock_timeout = 0; "
                              "SET default_transaction_isolation = 'read committed'; " + text, **values)

    def test_runs_are_valid_and_nobody_is_refused(self):
        strategies = "atomic,batched,sharded,pg-row,pg-advisory,pg-table,pg-value,pg-version,redis,prewarm"
        for environment in [{}, ENVIRONMENT]:
            done = self.stack.loadgen("--strategy", strategies, "--rate", "400", "--requests", "200", "--stock", "150",
                                      "--no-progress", "--output-format", "json", env=environment)
            summary = json.loads(done.stdout)
            for run in summary["strategies"]:
                with self.subTest(run["strategy"], environment=bool(environment)):
                    self.assertEqual((run["sold"], run["anomalies"]), (150, []), done.stderr)
                    if run["strategy"] in ["atomic", "batched"]:
                        self.assertEqual(run["outcomes"]["busy"], 0)

    def test_a_reservation_without_an_order_is_settled(self):
        product, order = str(uuid.uuid4()), str(uuid.uuid4())
        self.sql("inventory", "INSERT INTO product VALUES (:'id', 'test', 9.99, 3, 'atomic')", id=product)
        answer = self.stack.ask("POST", f"/products/{product}/reservations", {"order_id": order}, to="inventory-2")
        self.assertEqual(answer.status, 201, answer.text)
        wait_for("settled", lambda: self.stack.ask("GET", f"/orders/{order}").status == 200)

    def test_the_audit_for_people_finds_the_tables(self):
        product = self.stack.loadgen("create", "--strategy", "atomic", "--stock", "3").stdout.split()[-1]
        done = subprocess.run([str(ROOT / "scripts/audit"), product], env=self.stack.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for title in ["Stock: ", "Orders: "]:
            self.assertIn(title, done.stdout)

    def test_locks_of_each_mode_exclude_and_give_the_environment_to_the_command(self):
        for mode in ["session", "table"]:
            url = self.stack.settings["INVENTORY_SVC_DB"] + f"?mode={mode}"
            lockctl = str(ROOT / BUILD / "bin/lockctl")
            inner = f'"{lockctl}" run --wait 0s - shop -- true; echo "$? $PGHOSTADDR $PGTZ"'
            done = subprocess.run([lockctl, "run", "-", "shop", "--", "sh", "-c", inner], capture_output=True, text=True,
                                  timeout=60, env=dict(os.environ, LOCKCTL_URL=url, **ENVIRONMENT))
            self.assertEqual((done.returncode, done.stdout), (0, "75 127.0.0.9 Asia/Shanghai\n"), done.stderr)

    def start(self, program, *flags):
        """Starts a service with the settings of the stack, on a port of its own, under the hostile environment."""
        service = subprocess.Popen([str(ROOT / BUILD / "bin" / program), *flags], stderr=subprocess.PIPE,
                                   env=dict(os.environ, **self.stack.settings, **ENVIRONMENT))
        self.addCleanup(service.stderr.close)
        self.addCleanup(service.wait)
        self.addCleanup(service.terminate)

    def test_services_connect_to_what_their_settings_say(self):
        locks = self.stack.run_dir / "hostile-locks"
        self.start("inventory-svc", "--port", str(PORT_BASE + 9), "--lock-dir", str(locks))
        self.start("order-svc", "--port", str(PORT_BASE + 8), "--inventory", f"http://127.0.0.1:{PORT_BASE + 9}")
        for port in [PORT_BASE + 8, PORT_BASE + 9]:
            wait_for("ready", lambda: self.is_ready(port))

    @staticmethod
    def is_ready(port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


class Readiness(SystemTest):
    def order(self, status):
        answer = self.stack.order(self.product)
        self.assertEqual(answer.status, status, answer.text)

    def unready(self, name, reason):
        answer = self.stack.ask("GET", "/readyz", to=name)
        self.assertEqual((answer.status, reason in answer.text), (503, True), answer.text)

    def refuses_and_sells_again(self, database, break_it, mend_it, reason, status=503):
        service = "order-svc" if database == "orders" else "inventory-1"
        self.product = self.stack.product("atomic", 50)
        self.order(201)
        self.stack.sql(database, break_it)
        for _ in range(6):
            self.order(status)
        self.unready(service, reason)
        self.stack.sql(database, mend_it)
        wait_for("a sale", lambda: self.stack.order(self.product).status == 201)
        wait_for("ready", lambda: self.stack.ask("GET", "/readyz", to=service).status == 200)
        Ledger(self.stack, self.product).check(self)

    def test_a_database_that_was_read_only_sells_again(self):
        for database in ["inventory", "orders"]:
            with self.subTest(database):
                self.refuses_and_sells_again(
                    database, f"ALTER DATABASE {database} SET default_transaction_read_only = on;"
                    f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename LIKE '%_svc' "
                    f"AND datname = '{database}'",
                    f"SET default_transaction_read_only = off; ALTER DATABASE {database} RESET ALL", "is read only")

    def test_a_right_that_was_lost_is_told(self):
        self.refuses_and_sells_again("inventory", "REVOKE INSERT ON reservation FROM inventory_svc",
                                     "GRANT INSERT ON reservation TO inventory_svc", "denies rights", 500)
        self.refuses_and_sells_again("orders", "REVOKE INSERT ON orders FROM order_svc",
                                     "GRANT INSERT ON orders TO order_svc", "denies rights")

    def test_a_table_that_is_missing_is_told(self):
        self.refuses_and_sells_again("inventory", "ALTER TABLE reservation RENAME TO gone",
                                     "ALTER TABLE gone RENAME TO reservation", "lacks a table", 500)
        self.refuses_and_sells_again("orders", "ALTER TABLE orders RENAME TO gone", "ALTER TABLE gone RENAME TO orders",
                                     "lacks a table")

    def test_a_table_that_is_altered_costs_no_order(self):
        for strategy in ["atomic", "batched", "redis", "pg-version"]:
            self.product = self.stack.product(strategy, 50)
            self.order(201)
            for kind in ["numeric", "bigint"]:
                self.stack.sql("inventory", f"ALTER TABLE stock ALTER first_unit TYPE {kind}")
                for _ in range(4):
                    self.order(201)
            Ledger(self.stack, self.product).check(self)


if __name__ == "__main__":
    unittest.main()
