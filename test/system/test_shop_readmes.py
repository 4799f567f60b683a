"""The READMEs of the shops: their commands work when they are pasted, in a copy of shops/ and scripts/ at the ports of this test."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import vendure
from harness import BUILD, PORT_BASE, ROOT, SystemTest

# Each command that fails becomes a line of its code and its text.
RECORDER = 'trap \'echo "$? $BASH_COMMAND" >>"$FAILED"\' ERR\n'


def move(text):
    """The ports of the stack and of the shops."""
    return re.sub(r"\b(800\d|9[78]\d\d)\b", lambda port: str(int(port[0]) - 8000 + PORT_BASE if port[0][0] == "8" else
                                                              PORT_BASE + 30 + int(port[0]) % 30), text)


class Readmes(SystemTest):
    def setUp(self):
        super().setUp()
        self.tree = Path(tempfile.mkdtemp(prefix="sale-readme-"))
        self.addCleanup(shutil.rmtree, self.tree)
        for name in "scripts", "shops":
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("node_modules"))
        (self.tree / "Makefile").touch()  # so the scripts take it for a checkout
        (self.tree / ".run").symlink_to(self.stack.run_dir)
        for file in [*self.tree.glob("shops/**/*.shop"), self.tree / "shops/vendure/server.js"]:
            file.write_text(move(file.read_text()))

    def blocks(self, name):
        """The commands of a README, for one shell. The stack of this test stands for `make up`, and stays; scripts/shops has tests of
        its own."""
        text = "".join(re.findall(r"^```\n(.*?)^```", (self.tree / "shops" / name / "README.md").read_text(), re.M | re.S))
        text = re.sub(r"(?m)^(make up|make down|scripts/shops|make shops)\b.*\n", "", text)
        return move(text.replace("npm install --ignore-scripts && ", "").replace("--rate 20 ", "--rate 20 --customers 40 --stock 10"))

    def paste(self, name, *expected):
        """Runs the commands. Those that the README calls VIOLATED end with 1, and all others with 0."""
        failed, commands = self.tree / "failed", self.blocks(name)
        failed.write_text("")
        env = dict(self.stack.env, B=str(ROOT / BUILD), FAILED=str(failed), LOADGEN_NO_PROGRESS="1", RUN_DIR=".run")
        done = subprocess.run(["bash", "-c", RECORDER + commands], cwd=self.tree, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        violated = re.findall(r"(?m)^(.*\S) +# VIOLATED", commands)
        self.assertEqual(failed.read_text().splitlines(), [f"1 {' '.join(command.split())}" for command in violated], done.stdout)
        for text in expected:
            self.assertIn(text, done.stdout)

    def test_order_svc(self):
        self.paste("order-svc", "= order: ", "A run can judge:", "VALID", "VIOLATED OVERSELL")

    def test_article(self):
        self.paste("article", "= order: ", "A run can judge:", "VIOLATED OVERSELL")

    def test_students(self):
        for language in "python", "node", "java", "go":
            with self.subTest(language):
                self.paste(f"student-{language}", "= order: ", "VIOLATED OVERSELL", "VALID ")

    def test_vendure(self):
        vendure.install(self)
        (self.tree / "shops/vendure/node_modules").symlink_to(vendure.FOLDER / "node_modules")
        self.paste("vendure", "= order: ", "A run can judge:", "VIOLATED OVERSELL")


if __name__ == "__main__":
    unittest.main()
