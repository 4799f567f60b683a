"""What `make install` puts below a prefix: programs that need no checkout; and lockkit, found by pkg-config, built against in C
and C++, with and without its backends."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema
from harness import ARTICLE_PRODUCT, BUILD, LOST_UPDATES, PORT_BASE, ROOT, copy_template
from redis_server import URL, RedisServer

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = [["gcc", "-std=gnu99"], ["gcc", "-std=gnu11"], ["clang", "-std=gnu11"], ["g++", "-x", "c++", "-std=c++17"],
             ["clang++", "-x", "c++", "-std=c++17"]]


def output_of(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def make(*words):
    return output_of("make", "--no-print-directory", f"-j{os.cpu_count()}", *words)


def declared():
    """The functions of the headers."""
    text = "\n".join(path.read_text() for path in (ROOT / "lockkit/include").glob("*.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^ *(#.*\\\n)*.*typedef.*?;|^#(.*\\\n)*.*$", "", text, flags=re.M)
    return set(re.findall(r"\b(lk_\w+)\(", text))


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = Path(tempfile.mkdtemp(prefix="lockkit-"))
        cls.prefix = cls.dir / "usr"
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        make("install-lockkit", f"B={BUILD}", f"PREFIX={cls.prefix}")
        cls.env = dict(os.environ, PKG_CONFIG_PATH=str(cls.prefix / "lib/pkgconfig"), LD_LIBRARY_PATH=str(cls.prefix / "lib"),
                       LOCKCTL_URL=URL)

    def pkg_config(self, *words):
        return output_of("pkg-config", *words, "lockkit", env=self.env).split()

    def symbols(self, *nm):
        return {line.split()[-1] for line in output_of("nm", "--defined-only", *nm).splitlines() if re.match(r"[0-9a-f]+ \w ", line)}

    def test_only_what_the_header_declares_is_seen(self):
        self.assertGreater(len(declared()), 30)
        self.assertEqual(self.symbols("-D", self.prefix / "lib/liblockkit.so"), declared())
        self.assertEqual(self.symbols("-g", self.prefix / "lib/liblockkit.a"), declared())

    def test_debian_knows_each_symbol(self):
        told = re.findall(r"(?m)^ (\w+)@Base ", (ROOT / "debian/liblockkit0.symbols").read_text())
        self.assertEqual(sorted(told), sorted(declared()))

    def test_one_version_everywhere(self):
        version, = self.pkg_config("--modversion")
        self.assertTrue(output_of(self.prefix / "bin/lockctl", "--version").startswith(f"lockctl {version} ("))
        header = dict(re.findall(r"#define (LK_VERSION\w*) +(\S+)", (self.prefix / "include/lockkit.h").read_text()))
        self.assertEqual(header["LK_VERSION"], f'"{version}"')
        self.assertEqual([header[f"LK_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")], version.split("."))
        soname = f"liblockkit.so.{header['LK_VERSION_MAJOR']}"
        self.assertIn(f"[{soname}]", output_of("readelf", "-d", self.prefix / "lib/liblockkit.so"))
        self.assertRegex((ROOT / "debian/changelog").read_text(), rf"^inventory-sale \({re.escape(version)}\) ")
        self.assertEqual(os.path.realpath(self.prefix / "lib" / soname), f"{self.prefix}/lib/liblockkit.so.{version}")

    def build(self, compiler, example, is_static):
        """An example against the installed copy alone."""
        program = self.dir / f"{example}-{'-'.join(compiler)}-{'static' if is_static else 'shared'}"
        source = ROOT / f"lockkit/example/{example}.c"
        library = ["-Wl,--as-needed", self.prefix / "lib/liblockkit.a", *self.pkg_config("--static", "--libs")] if is_static \
            else self.pkg_config("--libs")
        library = ["-x", "none", *library] if "-x" in compiler and is_static else library
        output_of(*compiler, *WARNINGS, *self.pkg_config("--cflags"), source, "-o", program, *library)
        self.assertEqual("liblockkit" in output_of("ldd", program, env=self.env), not is_static)
        return program

    def test_the_examples_run_against_it(self):
        programs = [self.build(compiler, example, is_static) for compiler in COMPILERS for example in ("hold", "async")
                    for is_static in (False, True)]
        redis = RedisServer()
        self.addCleanup(redis.stop)
        running = [subprocess.Popen([program, URL, program.name], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for program in programs]
        for process in running:
            text = process.communicate(timeout=60)[0]
            self.assertEqual(process.returncode, 0, text)
            self.assertEqual(re.findall(r"step (\d) with fencing token \d+\n", text), ["1", "2", "3"])

    def test_each_header_is_c_and_cpp(self):
        flags = self.pkg_config("--cflags")
        for header in (self.prefix / "include").iterdir():
            for compiler in COMPILERS:
                language = [] if "-x" in compiler else ["-x", "c"]
                output_of(*compiler, *language, *WARNINGS, *flags, "-fsyntax-only", "-", input=f"#include <{header.name}>\n")

    def test_the_command_runs_and_has_its_page(self):
        redis = RedisServer()
        self.addCleanup(redis.stop)
        self.assertEqual(output_of(self.prefix / "bin/lockctl", "run", "-", "x", "--", "echo", "held", env=self.env), "held\n")
        for page in ("man1/lockctl.1", "man3/lockkit.3"):
            self.assertTrue((self.prefix / "share/man" / page).exists())

    def test_it_is_staged_and_removed_without_a_trace(self):
        stage = self.dir / "stage"
        for target in "install-lockkit", "install":
            told = {line.strip() for line in make(target, f"B={BUILD}", "PREFIX=/opt/lockkit", f"DESTDIR={stage}").splitlines()
                    if line.startswith(f"  {stage}")}
            self.assertEqual({str(path) for path in files_of(stage)}, told)
            self.assertIn("prefix=/opt/lockkit\n", (stage / "opt/lockkit/lib/pkgconfig/lockkit.pc").read_text())
            self.assertNotIn(str(stage), (stage / "opt/lockkit/lib/pkgconfig/lockkit.pc").read_text())
        make("uninstall", f"B={BUILD}", "PREFIX=/opt/lockkit", f"DESTDIR={stage}")
        self.assertEqual(files_of(stage), [])
        self.assertFalse((stage / "opt/lockkit/lib/inventory-sale").exists())

    def test_a_build_without_backends(self):
        backends = [path.name for path in (ROOT / "lockkit/backends").iterdir() if path.is_dir() and path.name not in ("local", "test")]
        prefix = self.dir / "alone"
        make("install-lockkit", f"B={BUILD}-alone", f"PREFIX={prefix}", f"WITHOUT={' '.join(backends)}")
        needed = set(re.findall(r"\(NEEDED\).*\[(\w+)\.so", output_of("readelf", "-d", prefix / "lib/liblockkit.so")))
        self.assertEqual(needed, {"libuv", "libc"})
        self.assertNotRegex((prefix / "lib/pkgconfig/lockkit.pc").read_text(), "hiredis|jansson|lpq|zookeeper")
        for url, said in ((URL, "does not support"), ("etcd://127.0.0.1", "does not support"), ("zookeeper://127.0.0.1", "does not support"), ("nonsense://x", "no backend")):
            done = subprocess.run([prefix / "bin/lockctl", "run", url, "x", "--", "true"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 64)
            self.assertIn(said, done.stderr)
        done = subprocess.run([prefix / "bin/lockctl", "run", "local:", "x", "--", "true"])
        self.assertEqual(done.returncode, 0)


class Programs(unittest.TestCase):
    """Installed below a folder with spaces in its name, moved, and used from another folder by a user without a checkout: root
    hides the checkout behind an empty mount, except in a container that forbids mounts."""

    @classmethod
    def setUpClass(cls):
        cls.dir = Path(tempfile.mkdtemp(prefix="sale-install-"))
        cls.dir.chmod(0o755)  # Postgres runs as another user than root
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.prefix, cls.cwd, state = cls.dir / "my shop's copy", cls.dir / "elsewhere", cls.dir / "state"
        make("install", f"B={BUILD}", f"PREFIX={cls.dir}/first place")
        (cls.dir / "first place").rename(cls.prefix)
        for folder in cls.cwd, state / "inventory-sale":
            folder.mkdir(parents=True)
        copy_template(state / "inventory-sale")
        cls.addClassCleanup(lambda: shutil.rmtree((state / "inventory-sale/postgres").resolve(), ignore_errors=True))
        cls.hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', ROOT]
        if subprocess.run([*cls.hidden, "true"], capture_output=True).returncode != 0:
            cls.hidden = []
        cls.env = {"PATH": f"{cls.prefix}/bin:{os.environ['PATH']}", "HOME": str(cls.dir), "XDG_STATE_HOME": str(state),
                   "PORT_BASE": str(PORT_BASE), "LOADGEN_LATE": "1s", "LOADGEN_NO_PROGRESS": "1"}

    def run_there(self, *command, code=0, **env):
        done = subprocess.run([*self.hidden, *command], cwd=self.cwd, env=self.env | env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def paste(self, command, code=0):
        return self.run_there("bash", "-c", command, code=code)

    def test_a_stack_a_round_and_what_it_prints(self):
        before = {path: path.lstat().st_mtime_ns for path in self.prefix.rglob("*")}
        self.assertIn(f"Start it with PORT_BASE={PORT_BASE} sale-stack up", self.run_there("loadgen", "-d", "100ms", code=69))
        self.assertIn("sale-stack up starts one", self.run_there("sale-audit", ARTICLE_PRODUCT, code=69, RUN_DIR="/nowhere"))
        self.run_there("sale-stack", "up")
        self.addCleanup(self.run_there, "sale-stack", "down")
        told = self.run_there("loadgen", "--strategy", "none,atomic", "--rate", "800", "--duration", "300ms", "--stock", "120", "--expect",
                              f"none=OVERSELL+{LOST_UPDATES}")
        self.assertRegex(told, r"(?m)^atomic +VALID")
        audit = re.search(r"all of it: (sale-audit \S+)\n", told).group(1)
        self.assertIn("Twins", self.paste(audit))
        self.assertIn("browser: loadgen serve", told)
        self.assertIn(f"needs services started with --lab: sale-stack down; INVENTORY_SVC_FLAGS=--lab PORT_BASE={PORT_BASE} sale-stack up",
                      self.run_there("loadgen", "--strategy", "atomic,fail=after-read:crash", "-d", "100ms", code=64))
        self.run_there("loadgen", "--strategy", "atomic", "-R", "200", "-d", "1s", "--fault", "redis:restart@300ms")
        self.check_own_shop()
        self.assertRegex(self.paste("lockjudge --server 'lock-server redis' --expect 'all=told|untold|safe|not-judged' -f flush-held --json -- "
                                    "lockjudge-lockkit {url} >judged.json; [[ $? == [02] ]]; cat judged.json"), '"fault": "flush-held"')
        schema = json.loads((self.prefix / "share/inventory-sale/lockjudge-report.schema.json").read_text())
        jsonschema.validate(json.loads((self.cwd / "judged.json").read_text()), schema)
        self.run_there("sale-stack", "down")
        self.assertEqual({path: path.lstat().st_mtime_ns for path in self.prefix.rglob("*")}, before, "written below the prefix")

    def check_own_shop(self):
        """In a copy of the shops, at the ports of this test."""
        shops = self.cwd / "shops"
        shutil.copytree(self.prefix / "lib/inventory-sale/shops", shops)
        self.assertTrue({"README.md", "vendure/vendure.shop", "vendure/server.js", "student-python/cured.py", "student-node/student.shop"} <=
                        {str(path.relative_to(shops)) for path in files_of(shops)})
        self.assertEqual(list(shops.glob("**/node_modules")), [])
        file = shops / "order-svc/order-svc.shop"
        file.write_text(file.read_text().replace(":8000", f":{PORT_BASE}"))
        self.assertIn("A run can judge:\n", self.run_there("loadgen", "shop", "check", "shops/order-svc/order-svc.shop"))
        for command in f"cd '{shops}/..'", f'cd "{self.prefix}"; PATH=/usr/bin:/bin':  # also by a name with a blank
            program = "loadgen" if command.endswith("..'") else "bin/loadgen"
            self.assertIn("= order: ", self.paste(f"{command}; {program} shop order '{file}' --stock 3"))

    def test_a_chapter_of_the_lab(self):
        self.assertIn(" lab check 1\n", self.run_there("lab", "start", "1"))
        told = self.run_there("lab", "explore", "1", code=1)
        again = re.search(r"^Again: (.*lab explore .*)$", told, re.M).group(1)
        self.assertIn(str(self.dir / "inventory-sale/lab/01.c"), again)
        self.assertIn("OVERSELL", self.paste(again, code=1))
        told = self.run_there("lab", "check", "1", code=1)
        self.assertIn(" lab hint 1.\n", told)
        self.paste(re.search(r"See it: (.*lab explore .*)$", told, re.M).group(1), code=1)
        (self.dir / "inventory-sale/lab/01.c").write_text((ROOT / "lab/01-oversell/answer.c").read_text())
        self.run_there("lab", "check", "1")
        again = re.search(r"^Again: (.*)$", self.run_there("lab", "explore", "none", code=1), re.M).group(1)
        self.paste(again, code=1)
        said = self.run_there("lab", "run", "1", "--requests", "200", "--stock", "150")
        self.assertIn("exercise: sold all 150 units once each and refused the other 50", said)

    def test_the_chapter_about_an_own_shop(self):
        self.assertIn(" lab check 13\n", self.run_there("lab", "start", "13"))
        self.assertIn(f"mine.shop: run PORT_BASE={PORT_BASE} lab run 13 shop new, and ", self.run_there("lab", "check", "13", code=66))
        self.run_there("lab", "run", "13", "shop", "new")
        text = self.run_there("lab", "answer", "13").partition("\n# ----")[0]
        for port in 9801, 9802:
            text = text.replace(f":{port}", f":{PORT_BASE + port - 9750}")
        (self.dir / "inventory-sale/lab/13/mine.shop").write_text(text)
        self.assertIn("A run can judge:\n", self.run_there("lab", "run", "13", "shop", "check"))

    def test_a_missing_compiler_is_named(self):
        file = self.cwd / "01.c"
        shutil.copy(ROOT / "lab/01-oversell/answer.c", file)
        self.assertIn("gcc: this compiler could not be run, and your file is compiled with it: install it",
                      self.run_there("/usr/bin/env", "PATH=/nowhere", self.prefix / "lib/inventory-sale/bin/lab", "explore", file, code=70))

    def test_help_names_what_is_installed(self):
        for command, code in [("lab", 0), ("sale-stack", 0), ("sale-audit", 0)]:
            told = self.run_there(command, "--help", code=code)
            self.assertNotRegex(told, r"scripts/|make |\.run\b|build/gcc|work/lab")
            self.assertIn(f"Usage: {command} ", told)
            self.assertEqual([line for line in told.splitlines() if len(line) > 80], [])
        self.assertRegex(self.run_there("loadgen", "--version"), r"^loadgen \S+")

    def test_each_command_has_a_manual_and_each_program_completions(self):
        share = self.prefix / "share"
        commands = sorted(path.name for path in (self.prefix / "bin").iterdir())
        self.assertEqual(commands, ["inventory-svc", "lab", "loadgen", "lockctl", "lockjudge", "order-svc", "sale-audit", "sale-stack"])
        manuals = {path.stem: path for path in share.glob("man/man[18]/*")}
        self.assertEqual(sorted(manuals), commands)
        for path in manuals.values():
            self.assertEqual(output_of("mandoc", "-T", "lint", "-W", "warning", path), "")
        for path in "bash-completion/completions/loadgen", "zsh/site-functions/_inventory-sale", "fish/vendor_completions.d/lab.fish":
            self.assertTrue((share / path).is_file(), path)
        self.assertIn("hint\n", self.run_there("lab", "--help-format", "words", ""))

    def test_the_schemas(self):
        self.assertEqual(sorted(path.name for path in (self.prefix / "share/inventory-sale").iterdir()),
                         ["lab-results.schema.json", "loadgen-history.schema.json", "loadgen-summary.schema.json",
                          "lockjudge-history.schema.json", "lockjudge-report.schema.json"])

    def test_no_file_knows_the_checkout(self):
        stripped = self.dir / "stripped"
        for path in files_of(self.prefix):
            if path.is_symlink():
                self.assertFalse(os.readlink(path).startswith("/"), path)
                self.assertTrue(path.exists(), path)
                continue
            is_compiled = path.read_bytes().startswith((b"\x7fELF", b"!<arch>"))
            if is_compiled:  # a debugger finds the sources by the path of the checkout
                output_of("strip", "-g", "-o", stripped, path)
            self.assertFalse(os.fsencode(ROOT) in (stripped if is_compiled else path).read_bytes(), f"{path} has the checkout's path")


if __name__ == "__main__":
    unittest.main()
