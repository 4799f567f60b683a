"""scripts/stack and scripts/loadgen as a user calls them, from anywhere and again and again."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ARTICLE_PRODUCT, BUILD, ROOT, Stack

SERVICES = ["order-svc", "inventory-1", "inventory-2"]


class StackScript(unittest.TestCase):
    """With programs of its own, which it can build again."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sale-test-", dir="/tmp"))
        shutil.copytree(ROOT / BUILD / "bin", self.folder / "bin")
        self.stack = Stack()
        self.stack.env["B"] = str(self.folder)
        self.stack.up()

    def tearDown(self):
        self.stack.down()
        shutil.rmtree(self.folder)

    def pids(self):
        return {name: (self.stack.run_dir / f"{name}.pid").read_text() for name in SERVICES}

    def build_again(self, program):
        """As the linker does: the file is made anew."""
        (self.folder / "new").write_bytes((self.folder / "bin" / program).read_bytes())
        (self.folder / "new").chmod(0o755)
        (self.folder / "new").replace(self.folder / "bin" / program)

    def test_up_restarts_only_what_was_built_again_or_has_other_flags(self):
        def up(restarted):
            before, done = self.pids(), self.stack.script("up")
            changed = [name for name, pid in self.pids().items() if pid != before[name]]
            self.assertEqual(changed, restarted)
            self.assertIn(f"{' '.join(restarted)}\n" if restarted else "already running", done.stdout)
            self.assertEqual(self.stack.script("status").stdout.count(" ready"), 5)

        up([])
        self.build_again("order-svc")
        up(["order-svc"])
        self.build_again("inventory-svc")
        up(["inventory-1", "inventory-2"])
        self.stack.env["INVENTORY_SVC_FLAGS"] = "--lab"
        up(["inventory-1", "inventory-2"])
        up([])

    def test_a_service_that_was_built_again_finds_its_tables_as_it_wants_them(self):
        self.stack.sql("inventory", "ALTER TABLE reservation DROP COLUMN confirmed")
        self.build_again("inventory-svc")
        self.stack.script("up")
        self.stack.sql("inventory", "SELECT confirmed FROM reservation")

    def loadgen(self, *args, cwd, script="loadgen", **env):
        clean = {k: v for k, v in self.stack.env.items() if not k.startswith("LOADGEN_")}
        return subprocess.run([str(ROOT / "scripts" / script), *args], cwd=cwd, env={**clean, **env}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def test_loadgen_needs_one_instance_and_writes_where_its_caller_is(self):
        self.stack.kill("inventory-2")
        folder = self.folder / "elsewhere"
        folder.mkdir()
        run = self.loadgen("--strategy", "redis", "-d", "200ms", cwd=folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertTrue((folder / "results/latest/report.html").exists())
        page = self.loadgen("report", "results/latest", "results/latest", "-o", "both.html", cwd=folder)
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertTrue((folder / "both.html").exists())

    def test_without_a_stack_what_needs_none_works_and_the_rest_says_what_to_start(self):
        self.stack.script("down")
        for args, code in [(["-h"], 0), (["--help"], 0), ([], 69), (["create"], 69)]:
            for run_dir in [self.folder / "none", self.stack.run_dir]:
                run = self.loadgen(*args, cwd="/", RUN_DIR=str(run_dir))
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertIn("make up" if code else "--strategy", run.stderr + run.stdout)
                audit = self.loadgen(ARTICLE_PRODUCT, cwd="/", script="audit", RUN_DIR=str(run_dir))
                self.assertEqual((audit.returncode, "make up" in audit.stderr), (69, True), audit.stderr)


if __name__ == "__main__":
    unittest.main()
