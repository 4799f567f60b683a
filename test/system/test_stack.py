"""scripts/stack and scripts/loadgen as a user calls them, from anywhere and again and again."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, PORT_BASE, ROOT, Stack

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


if __name__ == "__main__":
    unittest.main()
