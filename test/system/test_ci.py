"""docs/ci.md: its workflows are read, and their commands are run here, so that they cannot rot."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from harness import ROOT, SystemTest, wait_for
from junit import read_junit


# Whether this machine stalls is not the question here.
RELAXED = {"+400%": "+1000000%", "+100%": "+1000000%", "-50%": "-99.9%", "-20%": "-99.9%", "p(99)<2s": "p(99)<1m",
           "busy<1%": "busy<100%"}


class Ci(SystemTest):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix="sale-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bin = self.folder / "bin"  # as `make install` makes it
        self.bin.mkdir()
        for name, script in {"loadgen": "loadgen", "lab": "lab", "sale-stack": "stack"}.items():
            (self.bin / name).symlink_to(ROOT / "scripts" / script)

    @staticmethod
    def blocks():
        text = (ROOT / "docs/ci.md").read_text()
        return [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)]

    def make_workspace(self, strategy):
        """A repository with a strategy."""
        space = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copy(ROOT / strategy, space / "strategy.c")
        return space

    def bash(self, command, space, **env):
        """A command as both services run it; its exit code, and all it said. In a container of GitHub another user owns the
        folder of the job."""
        for text, other in RELAXED.items():
            command = command.replace(text, other)
        env = ({} if "--shop" in command else {"LOADGEN_DURATION": "300ms"}) | env
        environment = dict(self.stack.env, PATH=f"{self.bin}:{os.environ['PATH']}", LOADGEN_NO_RESULTS="0",
                           LOADGEN_LATE="1h", GITHUB_STEP_SUMMARY=str(space / "shown.md"),
                           GIT_TEST_ASSUME_DIFFERENT_OWNER="1") | env
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command], cwd=space, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        return done.returncode, done.stdout

    def play(self, steps, event, space, baseline, **values):
        """Play the steps of a job on GitHub: the name, exit code and output of the first that failed, or None. The cache is a
        folder; other actions do nothing, nor do steps that install."""
        holds = {None: lambda failed: not failed, "always()": lambda failed: True}
        for name in ["push", "pull_request"]:
            holds[f"github.event_name == '{name}'"] = lambda failed, name=name: not failed and event == name
        failed = None
        for step in steps:
            if not holds[step.get("if")](failed):
                continue
            action = step.get("uses", "").partition("@")[0]
            if action == "actions/cache/restore" and baseline.exists():
                shutil.copytree(baseline, space / step["with"]["path"])
            elif action == "actions/cache/save":
                shutil.copytree(space / step["with"]["path"], baseline)
            elif "run" in step and not step["name"].startswith("Install"):
                env = {name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], value)
                       for name, value in step.get("env", {}).items()}
                self.assertNotIn("${{", step["run"])
                code, said = self.bash(step["run"], space, **env)
                if code:
                    failed = failed or (step["name"], code, said)
        return failed

    def test_the_workflow_for_github(self):
        workflow, job = self.blocks()[0], self.blocks()[0]["jobs"]["judge"]
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        self.assertEqual(job["container"], "debian:12")
        baseline, first, second = self.folder / "baseline", *(self.make_workspace("lab/11-shards/answer.c") for _ in range(2))
        self.assertIsNone(self.play(job["steps"], "push", first, baseline))
        self.assertEqual({path.name for path in baseline.iterdir()}, {"summary.json", "env.json"})
        self.assertIsNone(self.play(job["steps"], "pull_request", second, baseline))
        shown = (second / "shown.md").read_text()
        self.assertIn("| `exercise` | VALID | ✅ yes |", shown)
        self.assertIn("(loadgen diff ended with 0)", shown)
        self.assertEqual(read_junit(second / "junit.xml")[1]["exercise, round 3 of 3"], "passed")

        third = self.make_workspace("lab/11-shards/answer.c")
        summary = json.loads((baseline / "summary.json").read_text())
        summary["strategies"][0]["spread"]["p99_ms"]["median"] /= 1e9
        (baseline / "summary.json").write_text(json.dumps(summary))
        failed = self.play(job["steps"], "pull_request", third, baseline)
        self.assertEqual(failed[:2], ("Compare with the base branch", 99), failed)
        self.assertIn("| `p(99)<+1000000%` | `exercise` | ❌ missed |", (third / "shown.md").read_text())

    def test_the_workflow_for_github_stops_a_strategy_that_is_wrong(self):
        steps = self.blocks()[0]["jobs"]["judge"]["steps"]
        space, missing = self.make_workspace("lab/01-oversell/exercise.c"), self.folder / "none"
        failed = self.play(steps, "pull_request", space, missing)
        self.assertEqual(failed[:2], ("Explore every schedule", 1), failed)
        others = [step for step in steps if step.get("name") != "Explore every schedule"]
        failed = self.play(others, "pull_request", space, missing)
        self.assertEqual(failed[:2], ("Sell", 1), failed)
        self.assertIn("How `exercise` was violated", (space / "shown.md").read_text())
        self.assertIn("failure", read_junit(space / "junit.xml")[1].values())

    def test_the_workflow_for_gitlab(self):
        job = self.blocks()[1]["sale"]
        self.assertEqual(job["image"], "debian:12")
        self.assertEqual(job["artifacts"]["reports"]["junit"], "junit.xml")
        space = self.make_workspace("lab/11-shards/answer.c")
        self.assertEqual(job["cache"]["policy"], "$BASELINE")
        for branch, policy in [("main", "push"), ("", "pull")]:  # of a merge request none is set
            rule, = [rule for rule in job["rules"] if ("merge_request" in rule["if"]) == (branch == "")]
            self.assertEqual(rule["variables"], {"BASELINE": policy})
            for command in job["script"]:
                code, said = self.bash(command, space, CI_DEFAULT_BRANCH="main", CI_COMMIT_BRANCH=branch)
                self.assertEqual(code, 0, said)
            self.assertTrue((space / job["cache"]["paths"][0] / "summary.json").exists())
            self.assertEqual((space / "diff.md").exists(), branch == "")
        self.assertEqual({(space / path).exists() for path in job["artifacts"]["paths"]}, {True})

    def test_both_commits_in_one_job(self):
        space = self.make_workspace("lab/11-shards/answer.c")
        steps = self.blocks()[0]["jobs"]["judge"]["steps"]
        code, said = self.bash("git init -q && git add strategy.c && git -c user.name=x -c user.email=x commit -qm base && "
                               "git rev-parse HEAD", space, GIT_TEST_ASSUME_DIFFERENT_OWNER="0")
        self.assertEqual(code, 0, said)
        kept = [step for step in steps if step.get("name") in ("Build the strategy", "Start the services", "Sell")]
        self.assertEqual(len(kept), 3)
        failed = self.play(kept + self.blocks()[2], "pull_request", space, self.folder / "none",
                           **{"github.event.pull_request.base.sha": said.strip()})
        self.assertIsNone(failed)
        self.assertIn("(loadgen diff ended with 0)", (space / "diff.md").read_text())

    def test_your_service(self):
        """A student's shop, wrong and cured."""
        for program, failed_step in ("with_lock.py", "Sell"), ("cured.py", None):
            with self.subTest(program), self.make_shop(program) as (space, ports):
                steps = [dict(step, run=ports(step["run"])) for step in self.blocks()[3]]
                failed = self.play(steps, "pull_request", space, self.folder / "none")
                self.assertEqual(failed and failed[:2], failed_step and (failed_step, 1), failed)
                self.assertEqual("failure" in read_junit(space / "junit.xml")[1].values(), failed_step is not None)

    @contextlib.contextmanager
    def make_shop(self, program):
        """A repository with a shop. Gives it, and a function that puts the ports of this test into a text. Then ends the processes that
        a step left in the background, as the end of a job does."""
        space = Path(tempfile.mkdtemp(dir=self.folder))

        def ports(text):
            return text.replace("9801", str(self.stack.port("order-svc") + 51)).replace("9802", str(self.stack.port("order-svc") + 52))

        shop = ROOT / "shops/student-python"
        shutil.copy(shop / "ledger.py", space)
        shutil.copy(shop / program, space / "start.py")
        shutil.copy(shop / "shop.py", space)
        text = (shop / "student.shop").read_text().replace("# base", "base").replace(".run/student-python.db", "shop.db")
        (space / "my.shop").write_text(ports(text.replace("shops/student-python/", "")))
        try:
            yield space, lambda text: ports(text.replace("shop.py", "start.py"))
        finally:
            for folder in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):  # it has ended
                    if os.readlink(folder / "cwd") == str(space):
                        os.kill(int(folder.name), signal.SIGKILL)
                        wait_for("its end", lambda folder=folder: not folder.exists())

    def test_the_workflow_of_this_project_makes_what_there_is(self):
        workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
        job = workflow["jobs"]["test"]
        self.assertEqual((workflow["permissions"], job["container"]["image"]), ({"contents": "read"}, "debian:12"))
        self.assertGreater(job["timeout-minutes"], 0)
        commands = [step["run"] for step in job["steps"] if "run" in step and not step["name"].startswith("Install")]
        self.assertEqual(commands, ["make test"])
        code, said = self.bash("make -n test", ROOT)
        self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
