"""lab grade --class from outside: the table, CSV, results.json, the page, odd folders, faults of the machine. It needs no servers."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import BUILD, ROOT, wait_for
from test_grade import ANSWER, CHECK, FILES, SCHEMA, SELL, strategy

LAB = ROOT / BUILD / "bin/lab"
WRONG = strategy("(void)sale;\nreturn OUTCOME_SOLD;")
# A body of its own, and the same one under other names, with other blanks and comments.
OWN = """struct stock_row row;
    int tries = 0, last = 3;
    for (tries = 0; tries < last; tries++) {
        enum outcome got = store_read_stock(sale, 0, &row);
        if (got != OUTCOME_OK) { last = last - 1; continue; }
        if (row.available <= 0 && tries > 1) return OUTCOME_SOLD_OUT;
        while (row.available > 5 && last > 2) { row.available -= 5; last--; }
        got = store_take_stock(sale, 0);
        if (got == OUTCOME_SOLD || got == OUTCOME_SOLD_OUT) return got;
    }
    return OUTCOME_BUSY;"""
RENAMED = OWN.replace("tries", "n").replace("last", "limit").replace("got", "r /* the answer */").replace("row;", "s;").replace("row.", "s.").replace(
    "&row", "&s").replace("    ", "\t").replace("\n", "  // done\n")
OTHER = """struct stock_row row;
    do {
        if (store_read_stock(sale, 0, &row) == OUTCOME_FAILED) break;
        switch (row.available % 7) { case 0: case 1: store_work(sale); break; default: break; }
        char text[40]; (void)snprintf(text, sizeof text, "%d left", row.available);
        if (strlen(text) > 30) return OUTCOME_FAILED;
    } while (row.available > 1000);
    return store_take_stock(sale, 0);"""


class GradingAClass(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory(prefix="sale-class-")
        self.addCleanup(self.home.cleanup)
        self.at = Path(self.home.name)
        self.folder = self.at / "class"
        self.folder.mkdir()
        self.temporary = Path(tempfile.mkdtemp(prefix="class", dir="/tmp"))  # the grader takes no long path
        self.addCleanup(shutil.rmtree, self.temporary)
        chapter = self.at / "chapters/01-one"
        chapter.mkdir(parents=True)
        (chapter / "chapter.json").write_text(json.dumps({"title": "One", "checks": [CHECK]}))

    def hand_in(self, student, text, name="01.c"):
        (self.folder / student).mkdir(exist_ok=True)
        (self.folder / student / name).write_text(text)

    def start(self, *arguments, **more):
        return subprocess.Popen([LAB, "grade", "--class", "--chapters", self.at / "chapters", "--chapter", "1", *arguments], cwd=ROOT,
                                env=os.environ | {"TMPDIR": str(self.temporary)} | more.pop("env", {}), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def grade(self, *arguments, code=0, **more):
        child = self.start(*(arguments or (self.folder,)), **more)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, code, out + err)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return out, err

    def rows_of(self, text):
        return {row["student"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}

    def test_each_student_gets_a_row_a_file_and_nobody_a_name_on_the_page(self):
        odd = {"=cmd|' -C calc'!A1": "'=cmd|' -C calc'!A1", "+1": "'+1", "-1": "'-1", "@x": "'@x", 'A "B", C': 'A "B", C', "two\nlines": "two lines",
               "Élodie Ω": "Élodie Ω", "Surname Name_12345_assignsubmission_file_": "Surname Name_12345_assignsubmission_file_"}
        for name in odd:
            self.hand_in(name, ANSWER)
        self.hand_in("Wrong <b>One", WRONG)
        out, err = self.grade(self.folder, "--csv", self.at / "all.csv", "--gradescope", self.at / "gs", "--page", self.at / "page.html")
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertIn("2 of 2 different files", err)
        raw = (self.at / "all.csv").read_bytes().decode()
        self.assertEqual(raw.count("\r\n"), raw.count("\n"))
        rows = self.rows_of(raw)
        self.assertEqual({name: row["sum"] for name, row in rows.items()}, {name: "100" for name in odd.values()} | {"Wrong <b>One": "0"})
        for name in odd:
            found = json.loads((self.at / "gs" / name / "results.json").read_text())
            jsonschema.Draft202012Validator(SCHEMA).validate(found)
            self.assertEqual(found["score"], 100)
        page = (self.at / "page.html").read_text()
        self.assertIn("1 of 9 failed", page)
        self.assertIn("--replay", page)
        for name in ("Wrong", "Élodie", "Surname"):
            self.assertNotIn(name, page)
        self.grade(self.folder, "--page", self.at / "page.html", "--names")
        page = (self.at / "page.html").read_text()
        self.assertIn("Wrong &lt;b&gt;One", page)
        self.assertNotIn("<b>One", page)

    def test_an_odd_folder_is_a_row_with_a_reason(self):
        self.hand_in("right", ANSWER, "1-late (2).c")
        (self.folder / "empty").mkdir()
        self.hand_in("deep", ANSWER)
        (self.folder / "deep/work").mkdir()
        (self.folder / "deep/01.c").rename(self.folder / "deep/work/01.c")
        self.hand_in("twice", ANSWER)
        self.hand_in("twice", ANSWER, "1.c")
        for name in ("large", "link", "pipe", "folder"):
            (self.folder / name).mkdir()
        with open(self.folder / "large/01.c", "wb") as large:
            large.truncate(100_000_000)
        (self.folder / "link/01.c").symlink_to("/etc/passwd")
        os.mkfifo(self.folder / "pipe/01.c")
        (self.folder / "folder/01.c").mkdir()
        (self.folder / "elsewhere").symlink_to("right")
        (self.folder / "__MACOSX").mkdir()
        (self.folder / "grades.csv").write_text("a file beside the students")
        out, _ = self.grade(self.folder, "--csv", self.at / "all.csv")
        rows = self.rows_of((self.at / "all.csv").read_text())
        self.assertEqual((rows.pop("right")["sum"], len(rows)), ("100", 8))
        for name, why in {"empty": "no file for a chapter", "deep": "the files are in a folder inside: move them up", "large": "more than 65536 bytes",
                          "twice": "there are two files for this chapter, 01.c and 1.c: keep one", "link": "it is a link", "pipe": "it is not a file",
                          "folder": "it is not a file", "elsewhere": "the folder is a link"}.items():
            with self.subTest(name):
                self.assertEqual(rows[name]["chapter 1"], "0")
                self.assertIn(why, rows[name]["remarks"])
                self.assertRegex(out, rf"(?m)^{name}: .*{why}")

    def test_the_wrong_level_is_told(self):
        self.hand_in("one", ANSWER)
        self.assertIn("holds files of chapters itself: `lab grade", self.grade(self.folder / "one", code=64)[1])
        self.assertIn(f"the students' folders are one level deeper: {self.at}/class", self.grade(self.at, code=64)[1])
        self.assertIn("has no folder with a file for a chapter", self.grade(self.temporary, code=64)[1])
        self.assertIn("No such file", self.grade(self.at / "nowhere", code=64)[1])
        for arguments, says in ((("--results", "x"), "--gradescope"), (("--live",), "one student")):
            self.assertIn(says, self.grade(self.folder, *arguments, code=64)[1])
        done = subprocess.run([LAB, "grade", "--csv", "x", self.folder], cwd=ROOT, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, "need --class" in done.stderr), (64, True))

    def test_a_fault_of_the_machine_is_no_grade(self):
        self.hand_in("right", ANSWER)
        (self.folder / "empty").mkdir()
        out, _ = self.grade(self.folder, "--csv", self.at / "all.csv", "--gradescope", self.at / "gs", code=70, env={"CC": "no-such-compiler"})
        rows = self.rows_of((self.at / "all.csv").read_text())
        self.assertEqual((rows["right"]["chapter 1"], rows["right"]["not graded"], rows["empty"]["chapter 1"]), ("", "1", "0"))
        self.assertIn("right: chapter 1: not graded: no-such-compiler: this compiler could not be run", out)
        self.assertEqual([path.name for path in (self.at / "gs").iterdir()], ["empty"])

    def is_in_sandbox(self, pid):
        try:
            return "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False

    def below(self, pid):
        try:
            own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            own = []
        return own + [each for child in own for each in self.below(child)]

    def test_ctrl_c_ends_all_and_keeps_what_is_ready(self):
        for end, name in ((os.killpg, "to the terminal's programs"), (os.kill, "to one")):
            with self.subTest(name):
                self.hand_in("a", WRONG)
                self.hand_in("b", FILES["loops"][0])
                self.hand_in("c", FILES["loops"][0] + "\n")
                child = self.start(self.folder, "-j", "1", "--csv", self.at / "all.csv", start_new_session=True)
                source = lambda: [path for path in self.temporary.glob("*/01.c") if "while (i)" in path.read_text()]
                wait_for("the second file", lambda: source() and any(map(self.is_in_sandbox, self.below(child.pid))))
                end(child.pid, signal.SIGINT)
                out, err = child.communicate(timeout=60)
                self.assertEqual(child.returncode, 130, out + err)
                self.assertEqual(list(self.temporary.iterdir()), [])
                with self.assertRaises(ProcessLookupError):
                    os.killpg(child.pid, 0)
                rows = self.rows_of((self.at / "all.csv").read_text())
                self.assertEqual([rows[student]["not graded"] for student in "abc"], ["0", "1", "1"])

    def test_a_grader_that_is_killed_gives_no_grade(self):
        self.hand_in("a", FILES["loops"][0])
        self.hand_in("b", ANSWER)
        child = self.start(self.folder, "-j", "1", "--csv", self.at / "all.csv")
        wait_for("the sandbox", lambda: any(map(self.is_in_sandbox, self.below(child.pid))))
        os.kill(int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0]), signal.SIGKILL)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 70, out + err)
        self.assertIn("a: chapter 1: not graded: its grader was ended by signal 9", out)
        rows = self.rows_of((self.at / "all.csv").read_text())
        self.assertEqual((rows["a"]["chapter 1"], rows["b"]["chapter 1"]), ("", "100"))

    def test_a_second_run_grades_only_the_files_without_a_result(self):
        self.hand_in("a", WRONG)
        self.hand_in("b", ANSWER)
        kept = self.at / "kept"
        self.grade(self.folder, "--keep", kept, code=70, env={"CC": "no-such-compiler"})
        first, err = self.grade(self.folder, "--keep", kept)
        self.assertIn("2 of 2 different files", err)
        self.hand_in("b", ANSWER + "\n")
        self.hand_in("c", ANSWER)
        kept.write_text(kept.read_text() + '{"key": {"cut')
        again, err = self.grade(self.folder, "--keep", kept, "--page", self.at / "page.html")
        self.assertIn("1 of 1 different files", err)
        self.assertEqual(first.splitlines()[1], again.splitlines()[1])
        self.assertIn("1 of 3 failed", (self.at / "page.html").read_text())
        self.assertIn("0 of 0 different files", self.grade(self.folder, "--keep", kept)[1])
        chapter = self.at / "chapters/01-one/chapter.json"
        chapter.write_text(chapter.read_text().replace("Sell.", "Sell it."))
        self.assertIn("3 of 3 different files", self.grade(self.folder, "--keep", kept)[1])
        self.assertIn("--keep /nowhere/kept: No such file", self.grade(self.folder, "--keep", "/nowhere/kept", code=70)[1])

    def test_files_that_are_alike_are_listed(self):
        shutil.copy(ROOT / "lab/01-oversell/answer.c", self.at / "chapters/01-one/answer.c")
        for name, text in {"one": strategy(OWN), "renamed": strategy(RENAMED), "other": strategy(OTHER), "answer": ANSWER, "same answer": ANSWER + "\n"}.items():
            self.hand_in(name, text)
        out, _ = self.grade()
        self.assertIn("This is a\nhint to look at both, no more", out)
        pairs = out.partition("no more")[2].splitlines()[1:]
        self.assertEqual(len(pairs), 1, out)
        self.assertRegex(pairs[0], r"chapter  1, 100 %: one and renamed")
        self.hand_in("renamed", strategy(SELL))
        self.assertNotIn("alike", self.grade()[0])


if __name__ == "__main__":
    unittest.main()
