"""lockkit as others get it: installed, found by pkg-config, built against in C and C++, with and without its backends."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, ROOT
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


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = Path(tempfile.mkdtemp(prefix="lockkit-"))
        cls.prefix = cls.dir / "usr"
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        make("install", f"B={BUILD}", f"PREFIX={cls.prefix}")
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

    def test_one_version_everywhere(self):
        version, = self.pkg_config("--modversion")
        self.assertTrue(output_of(self.prefix / "bin/lockctl", "--version").startswith(f"lockctl {version} ("))
        header = dict(re.findall(r"#define (LK_VERSION\w*) +(\S+)", (self.prefix / "include/lockkit.h").read_text()))
        self.assertEqual(header["LK_VERSION"], f'"{version}"')
        self.assertEqual([header[f"LK_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")], version.split("."))
        soname = f"liblockkit.so.{header['LK_VERSION_MAJOR']}"
        self.assertIn(f"[{soname}]", output_of("readelf", "-d", self.prefix / "lib/liblockkit.so"))
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
        told = make("install", f"B={BUILD}", "PREFIX=/opt/lockkit", f"DESTDIR={stage}").split()
        found = {str(path) for path in stage.rglob("*") if not path.is_dir()}
        self.assertEqual(found, set(told))
        self.assertIn("prefix=/opt/lockkit\n", (stage / "opt/lockkit/lib/pkgconfig/lockkit.pc").read_text())
        self.assertNotIn(str(stage), (stage / "opt/lockkit/lib/pkgconfig/lockkit.pc").read_text())
        make("uninstall", "PREFIX=/opt/lockkit", f"DESTDIR={stage}")
        self.assertEqual([path for path in stage.rglob("*") if not path.is_dir()], [])

    def test_a_build_without_backends(self):
        backends = [path.name for path in (ROOT / "lockkit/backends").iterdir() if path.is_dir() and path.name not in ("local", "test")]
        prefix = self.dir / "alone"
        make("install", f"B={BUILD}-alone", f"PREFIX={prefix}", f"WITHOUT={' '.join(backends)}")
        needed = set(re.findall(r"\(NEEDED\).*\[(\w+)\.so", output_of("readelf", "-d", prefix / "lib/liblockkit.so")))
        self.assertEqual(needed, {"libuv", "libc"})
        self.assertNotRegex((prefix / "lib/pkgconfig/lockkit.pc").read_text(), "hiredis|jansson|lpq|zookeeper")
        for url, said in ((URL, "lacks"), ("etcd://127.0.0.1", "lacks"), ("zookeeper://127.0.0.1", "lacks"), ("nonsense://x", "no backend")):
            done = subprocess.run([prefix / "bin/lockctl", "run", url, "x", "--", "true"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 64)
            self.assertIn(said, done.stderr)
        done = subprocess.run([prefix / "bin/lockctl", "run", "local:", "x", "--", "true"])
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
