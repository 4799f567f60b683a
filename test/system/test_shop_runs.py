"""scripts/shops starts shops, judges them, and stops them. docs/shops.md is its page. The commands of the READMEs in shops/ work when
they are pasted."""

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

import vendure
from harness import BUILD, PORT_BASE, ROOT, SystemTest, wait_for

PAGE = ROOT / "docs/shops.md"


def environment(**more):
    """scripts/shops names the folder of results."""
    return {name: value for name, value in os.environ.items() if name != "LOADGEN_NO_RESULTS"} | more


def rows(text):
    """The table of the page: its cells by the name of the run."""
    found = re.findall(r"(?m)^\| \[`([^`]+)`\]\([^)]*\) \| (.*) \|$", text)
    return {name: cells.split(" | ") for name, cells in found}


def with_words(text):
    """The processes with this text in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
        except OSError:
            pass  # it has ended
    return found


class Runs(SystemTest):
    def start(self, *words, **more):
        env = environment(PORT_BASE=str(PORT_BASE), RUN_DIR=str(self.stack.run_dir), B=BUILD, **more)
        return subprocess.Popen([ROOT / "scripts/shops", *words], cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def shops(self, *words, code=0, **more):
        with self.start(*words, **more) as run:
            said, errors = run.communicate(timeout=300)
        self.assertEqual(run.returncode, code, said + errors)
        return said + errors

    def summary(self, name):
        return json.loads((self.stack.run_dir / f"shops/results/{name}/latest/summary.json").read_text())

    def test_cheap_shops_are_judged_and_become_a_page(self):
        page = self.stack.run_dir / "page.md"
        names = ["student-python-lock-two", "student-node-cured-two", "order-svc-atomic"]
        said = self.shops(*names, SHOPS_PAGE=str(page))
        told = rows(page.read_text())
        self.assertEqual(list(told), names)
        for name in names:
            with self.subTest(name):
                about, count, *figures, verdict = told[name]
                summary = self.summary(name)
                strategy = summary["strategies"][0]
                self.assertEqual(count, "2" if name.endswith("two") else "1")
                self.assertEqual(figures, ["200", "50", f"{summary['settings']['rate']:g}", str(strategy["outcomes"]["sold"]),
                                           str(strategy["sold"]), str(strategy["left"])])
                self.assertEqual(verdict.split(":")[0], strategy["verdict"])
                self.assertIn(f"{name}: {verdict}\n", said)
                self.assertIn(f"- `{name}`: {strategy['sentence']}\n", page.read_text())
                self.assertRegex(page.read_text(), rf"\nscripts/shops {name} +# .*scripts/loadgen --shop \S+{name.partition('-lock')[0][:9]}")
        self.assertIn("OVERSELL", told[names[0]][-1])
        self.assertGreater(int(told[names[0]][-3]), 50)
        self.assertEqual([told[name][-3] for name in names[1:]], ["50", "50"])
        self.assertIn("strategy atomic", told["order-svc-atomic"][0])
        self.assertIn("\nNone: each shop was judged.\n", page.read_text())
        self.assertEqual(self.stack.states()["order-svc"], "ready", "the stack ran before, so it still runs")
        self.assertEqual(with_words(f"{self.stack.run_dir}/shops"), [])

    def test_a_held_shop_takes_the_printed_command(self):
        with self.start("--hold", "student-python") as run:
            command = run.stdout.readline()
            self.assertEqual(run.stdout.readline(), "Ctrl-C stops the shop.\n")
            done = subprocess.run(["bash", "-c", command.replace("scripts/loadgen --shop", "scripts/loadgen shop check").partition(" --")[0]],
                                  cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, command + done.stdout + done.stderr)
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(60), 130)
        self.assertEqual(with_words(f"{self.stack.run_dir}/student-python"), [])

    def test_an_interrupt_stops_shop_and_load(self):
        with self.start("student-node") as run:
            wait_for("loadgen", lambda: with_words("--shop\0" + str(self.stack.run_dir)) or run.poll() is not None)
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(90), 130)
        self.assertEqual(with_words(str(self.stack.run_dir) + "/shops"), [])
        self.assertEqual(with_words(str(self.stack.run_dir) + "/student-node"), [])

    def test_a_port_that_is_taken_is_named(self):
        with socket.create_server(("127.0.0.1", PORT_BASE + 30 + 9811 % 30)):
            self.assertIn(f"student-node: not judged: port {PORT_BASE + 31} is taken\n", self.shops("student-node", code=1))

    def test_bad_words(self):
        for words in ["nonsense"], ["--hold"], ["--hold", "nonsense"], ["--list", "vendure"], ["--nonsense"]:
            self.assertIn("Usage: scripts/shops", self.shops(*words, code=64))
        self.assertIn("Usage: scripts/shops", self.shops("--help"))

    def test_vendure_sells_what_it_does_not_have(self):
        vendure.install(self)
        self.shops("vendure")
        strategy = self.summary("vendure")["strategies"][0]
        self.assertIn("OVERSELL", [one["name"] for one in strategy["anomalies"]])
        self.assertEqual(self.summary("vendure")["shop"]["version"], "3.7.3")
        with socket.socket() as probe:
            self.assertNotEqual(probe.connect_ex(("127.0.0.1", PORT_BASE + 30 + 9701 % 30)), 0, "Vendure still listens")


class Page(unittest.TestCase):
    """docs/shops.md against scripts/shops."""

    def test_each_run_is_in_the_page(self):
        text = PAGE.read_text()
        names = subprocess.run([ROOT / "scripts/shops", "--list"], capture_output=True, text=True, check=True).stdout.split()
        missing = re.findall(r"(?m)^- `([^`]+)`: ", text.partition("\n## Not judged\n")[2])
        self.assertEqual(sorted([*rows(text), *missing]), sorted(names))
        self.assertEqual(re.findall(r"(?m)^scripts/shops (\S+) +# ", text), list(rows(text)))

    def test_each_command_of_loadgen_in_the_page_is_right(self):
        """Without its shop it ends with 66, and with 64 for a wrong option."""
        commands = re.findall(r"(?m)^scripts/shops \S+ +# (?:STRATEGY=\w+ )?scripts/loadgen (.*)$", PAGE.read_text())
        self.assertEqual(len(commands), len(rows(PAGE.read_text())))
        for command in commands:
            shop, file, *options = command.split()
            done = subprocess.run([ROOT / BUILD / "bin/loadgen", shop, "/nowhere.shop", *options, "--no-results"], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 66, command + done.stderr)
            self.assertTrue(file.startswith(".run/shops/") or (ROOT / file).is_file(), command)

    def test_a_shop_that_npm_does_not_bring_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "scripts", "shops":
                shutil.copytree(ROOT / name, f"{folder}/{name}", ignore=shutil.ignore_patterns("node_modules"))
            page = Path(folder) / "page.md"
            done = subprocess.run([f"{folder}/scripts/shops", "vendure"], capture_output=True, text=True, timeout=60,
                                  env=environment(NPM="false", SHOPS_PAGE=str(page)))
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(done.stderr, "vendure: not judged: `false install` ended with 1: \n")
            self.assertFalse(page.exists())


if __name__ == "__main__":
    unittest.main()
