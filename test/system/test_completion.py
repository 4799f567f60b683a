"""What the programs tell of themselves: completions in real shells, and their version."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import BUILD, ROOT

# The line before TAB, and after it: flags and commands of the programs, and flags of a command.
TYPED = [("loadgen --str", "loadgen --strategy "), ("loadgen --rate 5 --thr", "loadgen --rate 5 --threshold "),
         ('loadgen --name "a b" --thr', 'loadgen --name "a b" --threshold '),
         ("loadgen --name check --thr", "loadgen --name check --threshold "),
         ("loadgen --name=check --thr", "loadgen --name=check --threshold "),
         ("loadgen cre", "loadgen create "), ("loadgen serve --cl", "loadgen serve --class "),
         ("lab expl", "lab explore "), ("lab explore redis --preem", "lab explore redis --preemptions "),
         ("lockctl run --lim", "lockctl run --limit "), ("order-svc --inventory-t", "order-svc --inventory-timeout "),
         ("inventory-svc --lock", "inventory-svc --lock-dir "), ("loadgen --output zeb", "loadgen --output zebra ")]


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run(["make", "-s", "completions", f"B={BUILD}"], cwd=ROOT, check=True)
        cls.files = ROOT / BUILD / "completions"
        cls.home = Path(tempfile.mkdtemp(prefix="completion-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        (cls.home / "zebra").touch()
        cls.env = dict(os.environ, PATH=f"{ROOT / BUILD / 'bin'}:{os.environ['PATH']}", HOME=str(cls.home), ZDOTDIR=str(cls.home),
                       XDG_CONFIG_HOME=str(cls.home), XDG_DATA_HOME=str(cls.home), TERM="dumb", PS1="$ ", INPUTRC="/dev/null")

    def typed_in(self, shell, begin):
        """Types each row in one shell on a terminal, and waits for what it becomes."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.home)
            os.execvpe(shell[0], shell, self.env)
        told = ""

        def expect(text):
            nonlocal told
            deadline = time.monotonic() + 60
            while text not in told:
                self.assertTrue(select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0], f"{text!r} in {told!r}")
                told += re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]|[\r\b\x07]", "", os.read(terminal, 65536).decode(errors="replace"))

        try:
            os.write(terminal, (begin + "; echo 'be''gun'\n").encode())
            expect("begun")
            for typed, becomes in TYPED:
                told = ""
                os.write(terminal, f"{typed}\t".encode())
                expect(becomes)
                told = ""
                os.write(terminal, b"\x15 echo 'cle''ared'\n")
                expect("cleared\n")
        finally:
            os.kill(child, 9)
            os.close(terminal)
            os.waitpid(child, 0)

    def test_bash(self):
        self.typed_in(["bash", "--norc", "--noprofile", "-i"], "; ".join(f"source {path}" for path in sorted((self.files / "bash").iterdir())))

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_zsh(self):
        self.typed_in(["zsh", "-f", "-i"], f"unsetopt prompt_sp zle_bracketed_paste; fpath=({self.files}/zsh $fpath); autoload compinit; compinit -u -D")

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish(self):
        for typed, becomes in TYPED:
            done = subprocess.run(["fish", "--no-config", "-c", f"source {self.files}/fish/{typed.split()[0]}.fish; complete -C '{typed}'"],
                                  cwd=self.home, env=self.env, capture_output=True, text=True, timeout=60)
            self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], [becomes.split()[-1]], done.stderr)

    def test_nothing_is_offered_where_only_a_file_or_a_value_may_stand(self):
        for words in (["--strategy", ""], ["--strategy", "=", "re"], ["-R", ""], ["check", ""], ["--no-tui", "check", "x"]):
            done = subprocess.run([ROOT / BUILD / "bin/loadgen", "--help-format", "words", *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_program_tells_its_version(self):
        for program in ("inventory-svc", "lab", "loadgen", "lockctl", "lockjudge", "order-svc"):
            told = subprocess.run([ROOT / BUILD / "bin" / program, "--version"], capture_output=True, text=True)
            self.assertRegex(told.stdout, rf"\A{program} 0\.1\.0 \(([0-9a-f]{{40}}(-dirty)?|unknown)\)\n\Z")

    def test_a_format_that_is_none_is_refused(self):
        for words in ([], ["html"]):
            done = subprocess.run([ROOT / BUILD / "bin/lab", "--help-format", *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (64, "", "lab: --help-format is markdown, man or words\n"))


if __name__ == "__main__":
    unittest.main()
