"""The live view of loadgen: on a terminal, on a stopped or dumb one, and without one."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest
from pathlib import Path

from harness import BUILD, ROOT, SystemTest, wait_for

TWO = ["--strategy", "redis,atomic", "--rate", "400", "-d", "700ms", "--stock", "100", "--no-results"]
FRAMES = 4  # the fewest of TWO: the first of each round, and one more even if the machine stalls
SECOND = ["--strategy", "redis", "--rate", "200", "-d", "1200ms", "--stock", "100", "--no-results"]  # long enough for a line a second
LINE = re.compile(r"(?m)^redis 1/1  \d\.\d s  offered \d+/s  achieved \d+/s  sold \d+/100  in flight \d+  p99 \S+ ")


KEPT = r"redis     1/2  (VALID|INCONCLUSIVE)  sold 100 of 100  p99 .*\natomic    2/2  (VALID|INCONCLUSIVE)  sold 100 .*"


class Screen:
    """A terminal with all that the view needs: lines, a cursor, wiping. Anything else is an error."""

    SEQUENCE = re.compile(r"\x1b\[(\??)(\d*)(?:;\d+)*([A-Za-z])")

    def __init__(self):
        self.lines, self.row, self.column, self.is_cursor_shown = [""], 0, 0, True
        self.most_lines, self.widest, self.frames, self.escapes = 1, 0, 0, set()
        self.cut = ""

    def feed(self, text):
        text, at = self.cut + text, 0
        self.cut = re.search(r"(\x1b(\[[?;\d]*)?)?\Z", text)[0]  # the rest is still to come
        text = text.removesuffix(self.cut)
        while at < len(text):
            if text[at] == "\x1b":
                match = self.SEQUENCE.match(text, at)
                if match is None:
                    raise AssertionError(f"a strange escape sequence: {text[at:at + 10]!r}")
                self.obey(*match.groups())
                at = match.end()
            else:
                self.type(text[at])
                at += 1

    def obey(self, mark, number, command):
        self.escapes.add(command)
        line = self.lines[self.row]
        if command == "A":
            self.row -= int(number or 1)
        elif command == "K":
            self.lines[self.row] = line[:self.column]
        elif command == "J":
            self.lines[self.row:] = [line[:self.column]]
        elif mark and number == "25":
            self.is_cursor_shown = command == "h"
            self.frames += self.is_cursor_shown
        elif command != "m":
            raise AssertionError(f"a strange escape sequence: {mark}{number}{command}")
        assert self.row >= 0, "the cursor went past the first line"

    def type(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        else:
            self.lines[self.row] = self.lines[self.row][:self.column].ljust(self.column) + char + \
                self.lines[self.row][self.column + 1:]
            self.column += 1
        self.most_lines = max(self.most_lines, len(self.lines))
        self.widest = max(self.widest, self.column)

    @property
    def text(self):
        return "\n".join(self.lines).strip()


class Terminal:
    """loadgen with a pseudo-terminal as its stderr."""

    def __init__(self, stack, *args, columns=100, **environment):
        self.controller, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG")}
        env.update({k: v for k, v in stack.settings.items() if k.startswith("LOADGEN_")}, **{"TERM": "xterm", **environment})
        self.run = subprocess.Popen([str(ROOT / BUILD / "bin/loadgen"), *args], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=self.terminal, text=True)
        self.screen, self.raw, self.decoder = Screen(), "", codecs.getincrementaldecoder("utf-8")()

    def read(self, seconds):
        """The bytes that arrive within this time."""
        while select.select([self.controller], [], [], seconds)[0]:
            part = self.decoder.decode(os.read(self.controller, 65536))
            self.raw += part
            self.screen.feed(part)
            seconds = 0

    def wait_for(self, text):
        def is_shown():
            self.read(0.05)
            return text in self.screen.text
        wait_for(text, is_shown)

    def end(self, seconds=60):
        """Reads all output to the end. Returns the exit code."""
        end = time.monotonic() + seconds
        while self.run.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0.05)
        self.output, _ = self.run.communicate(timeout=10)
        return self.run.returncode

    def close(self):
        if self.run.poll() is None:
            self.run.kill()
            self.run.communicate()
        os.close(self.terminal)
        os.close(self.controller)


class LiveTest(SystemTest):
    def terminal(self, *args, **options):
        terminal = Terminal(self.stack, *args, **options)
        self.addCleanup(terminal.close)
        return terminal

    def assert_ended(self, seen):
        """Runs it to its end. On a busy machine it may miss the schedule."""
        self.assertIn(seen.end(), (0, 2), seen.output)

    def test_a_terminal_shows_the_round_and_keeps_a_line_of_it(self):
        seen = self.terminal(*TWO)
        for text in ["redis  round 1 of 2  sending", "of 100 left", "offered ", "in flight ", "sold out ", "atomic  round 2 of 2"]:
            seen.wait_for(text)
        self.assert_ended(seen)
        self.assertRegex(seen.screen.text, rf"\A{KEPT}\Z")
        self.assertTrue(seen.screen.is_cursor_shown)
        self.assertGreaterEqual(seen.screen.frames, FRAMES)
        self.assertLessEqual(seen.screen.most_lines, 6)
        self.assertLess(seen.screen.widest, 100)
        self.assertIn("m", seen.screen.escapes)
        self.assertNotIn("\033", seen.output)
        self.assertRegex(seen.output, r"(?m)^atomic +(VALID|INCONCLUSIVE)")

    def test_a_narrow_terminal_is_not_wrapped(self):
        terminals = {columns: self.terminal(*TWO, columns=columns) for columns in (10, 40)}
        for columns, seen in terminals.items():
            self.assert_ended(seen)
            self.assertGreaterEqual(seen.screen.frames, FRAMES)
            self.assertLess(seen.screen.widest, columns)
            self.assertRegex(seen.screen.text, r"\A\S*  \w+.*\n\S*  \w+.*\Z")

    def test_an_oversell_is_red(self):
        seen = self.terminal("--strategy", "none", "--work", "20ms", "-d", "1s", "--rate", "400", "--stock", "100",
                             "--expect", "none=VIOLATED", "--no-results")
        seen.wait_for("OVERSOLD by ")
        self.assert_ended(seen)
        self.assertRegex(seen.raw, r"\x1b\[1;31m\d+ of 100\x1b\[0m")

    def test_no_color_means_none(self):
        seen = self.terminal(*TWO, NO_COLOR="1")
        seen.wait_for("round 2 of 2")
        self.assert_ended(seen)
        self.assertNotIn("m", seen.screen.escapes)
        self.assertRegex(seen.screen.text, rf"\A{KEPT}\Z")

    def test_utf_8_is_used_where_it_is_known(self):
        cases = [({}, "###"), ({"LANG": "C.UTF-8"}, "███"), ({"LANG": "C.UTF-8", "LC_ALL": "C"}, "###")]
        started = [(self.terminal(*TWO, "-d", "300ms", **environment), bar) for environment, bar in cases]
        for seen, bar in started:
            self.assert_ended(seen)
            self.assertIn(bar, seen.raw)

    def test_a_dumb_terminal_and_no_tui_get_plain_lines(self):
        cases = [([], {"TERM": "dumb"}), ([], {"TERM": ""}), (["--no-tui"], {})]
        started = [self.terminal(*SECOND, *args, **environment) for args, environment in cases]
        for seen in started:
            self.assert_ended(seen)
            self.assertNotIn("\033", seen.raw)
            self.assertRegex(seen.screen.text + " ", LINE)

    def test_no_progress_says_nothing(self):
        seen = self.terminal(*SECOND, "--no-progress")
        self.assertEqual(self.stack.loadgen(*SECOND, "--no-progress").stderr, "")
        self.assert_ended(seen)
        self.assertEqual(seen.raw, "")

    def test_a_run_that_is_not_judged_shows_no_stock(self):
        seen = self.terminal("--no-judge", "--rate", "400", "-d", "700ms", "--no-results")
        seen.wait_for("failed ")  # it asks for no products
        self.assert_ended(seen)
        self.assertNotIn("stock", seen.raw)
        self.assertNotIn(" of 100", seen.raw)

    def test_without_a_terminal_there_is_a_line_a_second(self):
        done = self.stack.loadgen(*SECOND)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.replace("\n", " \n"), LINE)
        self.assertNotIn("\033", done.stderr + done.stdout)

    def test_an_interrupted_view_is_wiped(self):
        for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 130)]:
            seen = self.terminal(*TWO, "-d", "20s")
            seen.wait_for("sending 1")
            seen.run.send_signal(number)
            seen.wait_for("loadgen: interrupted")
            self.assertEqual(seen.end(), code, seen.output)
            self.assertRegex(seen.screen.text, r"\Aloadgen: interrupted: judging the part that ran; interrupt again to stop at once\n"
                                               r"redis     1/2  INCONCLUSIVE  sold .*\Z")
            self.assertTrue(seen.screen.is_cursor_shown)
            self.assertIn("redis", seen.output)

    def test_a_second_interrupt_wipes_it_too(self):
        seen = self.terminal("--strategy", "redis,work=50ms", "-d", "20s", "--no-results")
        seen.wait_for("sending 1")
        seen.run.send_signal(signal.SIGINT)
        seen.wait_for("loadgen: interrupted")
        seen.wait_for("waiting for answers")
        self.assertNotIn("sending", seen.screen.text)
        seen.run.send_signal(signal.SIGINT)
        self.assertEqual(seen.end(), 130)
        self.assertTrue(seen.screen.is_cursor_shown)
        self.assertNotIn("stock", seen.screen.text)

    def test_a_killed_program_leaves_the_cursor(self):
        seen = self.terminal(*TWO, "-d", "20s")
        seen.wait_for("sending 1")
        seen.run.kill()
        self.assertEqual(seen.end(), -9)
        self.assertTrue(seen.screen.is_cursor_shown)

    def test_output_of_the_shell_is_not_drawn_over(self):
        seen = self.terminal(*TWO, "--no-realtime")
        seen.wait_for("sending 0.")
        seen.run.send_signal(signal.SIGSTOP)
        wait_for("stopped", lambda: " (loadgen) T " in Path(f"/proc/{seen.run.pid}/stat").read_text())
        os.write(seen.terminal, b"\nthe shell was here\n")
        seen.run.send_signal(signal.SIGCONT)
        seen.wait_for("atomic  round 2 of 2")
        self.assert_ended(seen)
        self.assertRegex(seen.screen.text, rf"\nthe shell was here\n{KEPT}\Z")

    def test_a_stopped_terminal_does_not_stop_the_load(self):
        seen = self.terminal(*TWO, "--strategy", "atomic", "--no-realtime")
        termios.tcflow(seen.terminal, termios.TCOOFF)
        self.assert_ended(seen)
        self.assertRegex(seen.output, r"(?m)^atomic +VALID")
        termios.tcflow(seen.terminal, termios.TCOON)

    def test_a_terminal_that_nobody_reads_does_not_stop_the_load(self):
        seen = self.terminal(*TWO, "--strategy", "atomic")
        os.set_blocking(seen.terminal, False)

        def is_full():  # it stays so after the kernel moved all that it could
            try:
                while os.write(seen.terminal, b"x" * 4096):
                    pass
            except BlockingIOError:
                pass
            return not select.select([], [seen.terminal], [], 0.05)[1]
        wait_for("a full terminal", is_full)
        output, _ = seen.run.communicate(timeout=60)
        self.assertRegex(output, r"(?m)^atomic +VALID")

    def test_a_resized_terminal_is_drawn_to_its_width(self):
        seen = self.terminal(*TWO, columns=100)
        seen.wait_for("round 1 of 2")
        fcntl.ioctl(seen.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        seen.run.send_signal(signal.SIGWINCH)
        seen.screen = Screen()
        seen.screen.lines, seen.screen.row = [""] * 12, 11
        seen.wait_for("2/2")
        self.assertLess(seen.screen.widest, 40)
        self.assert_ended(seen)


if __name__ == "__main__":
    unittest.main()
