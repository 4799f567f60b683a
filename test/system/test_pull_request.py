"""For pull requests: the files of --junit and --markdown, and limits of diff."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from harness import BUILD, ROOT, SystemTest, wait_for
from junit import read_junit

QUICK = ["-R", "800", "-d", "200ms", "--late", "1h", "--no-progress"]


class Page(HTMLParser):
    """Its tags, the texts that stand in code, and the rows of its tables."""

    def __init__(self):
        super().__init__()
        self.tags, self.code, self.rows, self.open = set(), [], [], None

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open = tag
        if tag == "code":
            self.code.append("")
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open == "code":
            self.code[-1] += data
        if self.open and self.lasttag in ("td", "th", "code") and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


class PullRequest(SystemTest):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix="sale-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.junit, self.markdown = self.folder / "junit.xml", self.folder / "summary.md"
        self.files = ["--junit", str(self.junit), "--markdown", str(self.markdown)]
        self.results = ["--no-results=false", "--results", str(self.folder / "results")]

    def fire(self, code, *args, **more):
        done = self.stack.loadgen(*QUICK, *args, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    # ---- the files

    def test_a_run_and_its_check_write_the_same(self):
        self.fire(1, "--strategy", "none,atomic,mutex", "--expect", "mutex=VIOLATED", "--repeat", "2", "--threshold",
                  "oversell==0", "--threshold", "max<1us", *self.files, *self.results)
        suite, ends = read_junit(self.junit)
        self.assertEqual({name: end for name, end in ends.items() if "mutex, round" not in name}, {
            "the run came to its end": "passed", "none, round 1 of 2": "failure", "none, round 2 of 2": "failure",
            "atomic, round 1 of 2": "passed", "atomic, round 2 of 2": "passed", "mutex, all rounds": "passed",
            **{f"{name}: {limit}": end for name in ["none", "atomic", "mutex"]
               for limit, end in [("oversell==0", "passed"), ("max<1us", "failure")]}})
        failure = suite.find("testcase[@name='none, round 1 of 2']/failure")
        self.assertEqual(failure.get("type"), "VIOLATED")
        for words in ["none: in 2 rounds sold ", "counterexample 1 of ", "database     |"]:
            self.assertIn(words, failure.text)
        properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
        self.assertEqual((properties["seed"], properties["rate"], properties["exit_code"]), ("1", "800", "1"))
        text = self.markdown.read_text()
        self.assertTrue(text.startswith("### ❌ "), text)
        self.assertRegex(text, r"(?m)^\| `none` \| VIOLATED: .*TWIN \d+.* \| ❌ no: VALID was expected \| \d+ / 1000 ")
        self.assertRegex(text, r"(?m)^- `atomic`: in 2 rounds sold ")
        self.assertIn("| `max<1us` | `atomic` | ❌ missed | worst round: ", text)
        self.assertIn("How `none` was violated:\n\n<details>\n<summary>Counterexample</summary>\n\n```text\n  counter", text)
        self.assertIn("details", self.render().tags)
        self.assertIn(f"Linux {os.uname().release}`", text)
        written = self.junit.read_text(), text
        folder = (self.folder / "results/latest").resolve()
        done = self.stack.loadgen("check", str(folder), *self.files)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual((self.junit.read_text(), self.markdown.read_text()), written)

    def test_text_stays_text(self):
        name, strategies = "<b>&\"'|`@you ]]> http://x.example", ["a|`<i>&b\"c", "| x |", "``", "**a** [b](c)", " _a_ "]
        self.fire(0, "--no-judge", "--path", "/healthz", "--strategy", ",".join(strategies), "--name", name, *self.files)
        suite, ends = read_junit(self.junit)
        self.assertEqual((suite.get("name"), list(ends)), (name, ["the run came to its end", *strategies]))
        page = self.render()
        self.assertEqual(page.code[0], name)
        self.assertEqual([row[0] for row in page.rows[1:]], strategies)
        self.assertEqual({len(row) for row in page.rows}, {7})

    def render(self):
        """The summary as GitHub's own reader of Markdown shows it, without any markup but that of loadgen."""
        command = ["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", str(self.markdown)]
        html = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        page = Page()
        page.feed(html)
        self.assertLessEqual(page.tags, set("h3 p code pre ul li table thead tbody tr th td details summary".split()))
        return page

    def test_a_run_that_cannot_begin_says_so(self):
        self.fire(69, "--target", "http://127.0.0.1:9", "--strategy", "atomic", *self.files)
        suite, ends = read_junit(self.junit)
        self.assertEqual(ends, {"the run came to its end": "error", "atomic": "skipped"})
        self.assertIn("(loadgen ended with 69)", self.markdown.read_text())
        done = self.stack.loadgen("check", str(self.folder / "nowhere"), *self.files)
        self.assertEqual(done.returncode, 66)
        self.assertEqual(read_junit(self.junit)[1], {"the run came to its end": "error"})

    def test_an_interrupted_run_leaves_whole_files(self):
        run = self.stack.start_loadgen("--strategy", "atomic,redis", "--name", "cut", "-R", "200", "-d", "30s", "--no-progress",
                                       *self.files)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        wait_for("sales", lambda: self.stack.value(
            "inventory", "SELECT count(*) FROM reservation JOIN product USING (product_id) WHERE name = 'cut'") > 20)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 130)
        self.assertEqual(read_junit(self.junit)[1], {"the run came to its end": "error", "atomic": "error", "redis": "skipped"})
        self.assertTrue(self.markdown.read_text().startswith("### ⚠️ `cut`: interrupted; "))

    def test_an_interrupt_before_the_first_request_leaves_whole_files(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            target = f"http://127.0.0.1:{silent.getsockname()[1]}"
            run = self.stack.start_loadgen("--target", target, "--strategy", "atomic", *self.files)
            self.addCleanup(run.communicate)
            self.addCleanup(run.kill)
            peer, _ = silent.accept()
            with peer:
                peer.recv(1)
                run.send_signal(signal.SIGINT)
                self.assertEqual(run.wait(timeout=30), 130)
        self.assertEqual(read_junit(self.junit)[1], {"the run came to its end": "error", "atomic": "skipped"})
        self.assertTrue(self.markdown.read_text().startswith("### ⚠️ interrupted (loadgen ended with 130)"))

    def test_a_place_that_cannot_be_written_is_told_before_the_run(self):
        self.junit.write_text("of an earlier run")
        linked = self.folder / "linked"
        linked.symlink_to(self.junit)
        other = f"{self.folder}/./junit.xml"
        for args, words in [(["--junit", "/nowhere/x"], "--junit /nowhere/x: No such file"),
                            (["--junit", str(self.junit), "--markdown", "/nowhere/x"], "--markdown /nowhere/x: No such file"),
                            (["--junit", str(self.junit), "--markdown", str(self.junit)], "need a file of their own"),
                            (["-o", str(self.junit), "--junit", str(self.junit)], "need a file of their own"),
                            (["--junit", str(self.junit), "--markdown", str(linked)], "need a file of their own"),
                            (["-o", other, "--markdown", str(self.junit)], "need a file of their own"),
                            (["--list-strategies", "--junit", str(self.junit)], "no effect with --list-strategies")]:
            done = self.fire(64, "--strategy", "atomic", *self.results, *args)
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "results").exists())
        self.assertEqual(self.junit.read_text(), "of an earlier run")

    def test_a_file_that_is_stdout_is_continued(self):
        shown = self.folder / "shown.md"
        shown.write_text("before\n")
        with open(shown, "a") as to:
            done = subprocess.run([str(ROOT / BUILD / "bin/loadgen"), "--no-judge", "--path", "/healthz", "--target",
                                   f"http://127.0.0.1:{self.stack.port('order-svc')}", *QUICK, "-o", "/dev/null", "--markdown",
                                   "/dev/stdout"], env=self.stack.env, stdin=subprocess.DEVNULL, stdout=to, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(shown.read_text().startswith("before\n### ✅ nothing was judged"), shown.read_text())
        self.fire(0, "--strategy", "atomic", "--markdown", str(shown))
        self.assertTrue(shown.read_text().startswith("### ✅ "))

    def test_a_full_disk_is_told_and_the_rest_is_written(self):
        done = self.fire(70, "--strategy", "atomic", "--junit", "/dev/full", "--markdown", str(self.markdown), *self.results)
        self.assertIn("loadgen: --junit /dev/full: No space left on device", done.stderr)
        self.assertIn("atomic: VALID", done.stdout)
        self.assertIn("| `atomic` | VALID |", self.markdown.read_text())
        self.assertTrue((self.folder / "results/latest/summary.json").exists())

    # ---- limits of diff

    def diff(self, code, *args):
        done = self.stack.loadgen("diff", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_limit_ends_diff_with_99(self):
        self.fire(0, "--strategy", "atomic", *self.results)
        before, after = str(self.folder / "results/latest"), self.folder / "after"
        summary = json.loads((Path(before) / "summary.json").read_text())
        summary["strategies"][0]["spread"]["p50_ms"]["median"] *= 41
        after.mkdir()
        (after / "summary.json").write_text(json.dumps(summary))
        self.assertNotIn("limits", self.diff(0, before, str(after)).stdout)
        limits = ["--limit", "p(50)<+20%", "--limit", "rate > -10 %", "--limit", "oversell==0"]
        done = self.diff(99, before, str(after), *limits, "--markdown", str(self.markdown))
        self.assertRegex(" ".join(done.stdout.split()),
                         r"✗ MISSED atomic, p\(50\)<\+20%: A [\d.]+ m?s, B [\d.]+ m?s; limit [\d.]+ m?s, missed by [\d.]+ m?s")
        self.assertEqual(done.stdout.count("  ✓ ok atomic, "), 2)
        self.assertIn("exit code 99: a limit was missed", done.stdout)
        self.assertIn("| `p(50)<+20%` | `atomic` | ❌ missed | A ", self.markdown.read_text())
        told = json.loads(self.diff(99, before, str(after), *limits, "--output-format", "json").stdout)["limits"]
        self.assertEqual([one["holds"] for one in told], [False, True, True])
        self.assertAlmostEqual(told[0]["b"], 41 * told[0]["a"], delta=1)
        self.assertIn("every limit was kept", " ".join(self.diff(0, str(after), before, *limits).stdout.split()))
        for name in ["spread", "latency_ms", "percentiles"]:
            del summary["strategies"][0][name]
        (after / "summary.json").write_text(json.dumps(summary))
        self.assertIn("the summary.json of B has no p(50) of atomic", self.diff(66, before, str(after), *limits).stderr)
        self.assertIn("is no duration", self.diff(64, before, str(after), "--limit", "p(50)<+20").stderr)

if __name__ == "__main__":
    unittest.main()
