"""scripts/deps on a system that is not Debian 12 or 13: it names the missing packages and stops, or continues."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ROOT

SYSTEMS = {"Ubuntu 24.04 LTS": "ID=ubuntu\nVERSION_ID=\"24.04\"\nID_LIKE=debian\n", "Fedora Linux 41": "ID=fedora\nVERSION_ID=41\n",
           "Alpine Linux v3.20": "ID=alpine\nVERSION_ID=3.20.0\n", "Debian GNU/Linux trixie/sid": "ID=debian\n"}
TOOLS = ["bash", "cat", "dirname", "env", "realpath", "sed", "sort", "tr", "test"]  # what the script itself needs
COMPILE = {"gcc", "make", "pkg-config", "libuv", "hiredis", "libpq", "jansson", "zlib", "libseccomp", "zookeeper_st", "libcurl",
           "jq.h"}
LLHTTP = Path("/usr/include/llhttp.h").exists() or Path("/usr/share/llhttp/llhttp.c").exists()
BUILD = COMPILE | {"redis-server", "redis-cli", "curl"}


class OtherSystem(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="sale-deps-"))
        self.addCleanup(shutil.rmtree, self.dir)
        (self.dir / "bin").mkdir()
        for name in TOOLS:
            (self.dir / "bin" / name).symlink_to(shutil.which(name))

    def put(self, name, text="exit 0"):
        path = self.dir / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def deps(self, what, system="Fedora Linux 41"):
        release = self.dir / "os-release"
        release.write_text(f'PRETTY_NAME="{system}"\n{SYSTEMS[system]}')
        return subprocess.run([ROOT / "scripts/deps", what], env={"PATH": str(self.dir / "bin"), "OS_RELEASE": str(release),
                                                                  "PG_BIN": str(self.dir / "bin")},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def missing(self, done):
        return {line.split()[0] for line in done.stderr.splitlines() if line.startswith("  ")} - ({"llhttp"} if not LLHTTP else set())

    def test_each_says_what_is_missing_and_stops(self):
        self.put("initdb")
        self.put("apt-get", "echo called; exit 1")
        for system in SYSTEMS:
            with self.subTest(system):
                done = self.deps("compile", system)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"deps: this system is {system}; ", done.stderr)
                self.assertEqual(self.missing(done), COMPILE)
        self.assertEqual(self.missing(self.deps("build")), BUILD)
        self.assertIn("  libuv            libuv1-dev\n", done.stderr)
        self.assertLessEqual(BUILD | {"etcd", "java"}, self.missing(self.deps("lab")))
        self.assertLessEqual(BUILD | {"etcd", "java", "etcdctl", "npm", "python-redis"}, self.missing(self.deps("locks")))
        self.assertNotIn("cmocka", self.missing(self.deps("locks")))
        self.assertLess(BUILD | {"etcd", "java", "cmocka", "wrk", "python-kazoo"}, self.missing(self.deps("test")))

    def test_one_that_is_missing_is_named_alone(self):
        for name in "gcc", "make", "curl", "redis-cli", "initdb":
            self.put(name)
        self.put("pkg-config", '[[ $2 != jansson ]]')
        done = self.deps("build")
        self.assertEqual((done.returncode, self.missing(done)), (1, {"jansson", "redis-server"}))

    def test_where_all_is_there_it_goes_on(self):
        for name in "gcc", "make", "pkg-config", "curl", "redis-cli", "redis-server", "initdb":
            self.put(name)
        for system in SYSTEMS:
            done = self.deps("build", system)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_postgres_is_found_where_pg_bin_says(self):
        for name in "gcc", "make", "pkg-config", "curl", "redis-cli", "redis-server":
            self.put(name)
        done = self.deps("build")
        is_debians = any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        self.assertEqual(self.missing(done), set() if is_debians else {"postgres"})
        self.put("initdb")
        self.assertEqual(self.deps("build").returncode, 0)

    def test_a_word_that_it_does_not_know_is_refused(self):
        done = self.deps("everything")
        self.assertEqual(done.returncode, 64)
        self.assertIn("Usage: scripts/deps [compile|build|lab|locks|test]", done.stderr)


if __name__ == "__main__":
    unittest.main()
