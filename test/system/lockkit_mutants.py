"""Builds mutants of lockkit: the worker lockjudge-lockkit with a few lines of lockkit replaced.

A mutant is a list of exact replacements in lockkit's sources. A text that is not there exactly once is an error. The product has no
line of a mutant: the sources and their objects are copied, and make builds only the changed ones again."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, ROOT

SOURCES = ["Makefile", "lockkit", "uvkit", "lockjudge/adapters"]
OBJECTS = ["lockkit", "uvkit", "lockjudge/adapters", "llhttp", "revision"]


LUA = "lockkit/backends/redis/lua"
QUEUE = "lockkit/src/queue.c"

TTL = {"redlock-2": "600ms", "zookeeper-1": "2s", "etcd-1": "2s"}  # "1s" for others; etcd and ZooKeeper grant no less

# The mutant, its server, the row that shows it, the verdict or "" for any, its word, and the replacements: file, before, after.
MUTANTS = [
    ("release-without-compare", "redis", "stop-release", "", "FREES-ANOTHERS", [
        (f"{LUA}/release.lua", "string.sub(held, 1, 40) == ARGV[1]", "not redis.call('ZSCORE', KEYS[3], ARGV[1])")]),
    ("table-release-without-compare", "postgres", "stop-release", "", "FREES-ANOTHERS", [
        ("lockkit/backends/postgres/table_mode.c", "AND owner = $2 FOR UPDATE)", "AND $2 <> '' FOR UPDATE)")]),
    # Another holder has the lock after the flush. Renewal takes it back, and nobody learns of it.
    ("renewal-creates", "redlock-1", "flush-held", "untold", "TWIN-UNAWARE", [
        (f"{LUA}/renew.lua", "  if is_ours then redis.call('PEXPIRE', key, ARGV[2 * i]) end\n",
         "  if not is_ours then redis.call('SET', key, ARGV[2 * i - 1] .. ':0:') end\n  is_ours = true\n"
         "  redis.call('PEXPIRE', key, ARGV[2 * i])\n")]),
    ("counter-resets", "redis", "none", "", "FENCE-FALLS", [
        (f"{LUA}/parts/mint.lua", "math.max(last, time[1] * 1000000 + time[2] - 1, tonumber(above)) + 1", "last % 5 + 1")]),
    ("file-counter-resets", "folder", "none", "", "FENCE-FALLS", [
        ("lockkit/backends/file/file_lock.c", "job->fence = last + 1;", "job->fence = last % 5 + 1;")]),
    # With a TTL of 600 ms the delayed reply to a grant comes just before the deadline of replies.
    ("clock-after-the-reply", "redlock-2", "delay-reply", "", "TWIN-UNAWARE", [
        (QUEUE, "    lease_answered(lease, command);\n    lease->fence = command->fence;\n",
         "    lease_answered(lease, command);\n    lease->sent_ns = client_now_ns(lease->client);\n    lease->fence = command->fence;\n")]),
    # One release grants the lock to the first two in line.
    ("wakes-two", "redis", "none", "untold", "TWIN-UNAWARE", [
        (f"{LUA}/parts/line.lua", "local mine, here = nil, {}", "local mine, here, is_second = nil, {}, false"),
        (f"{LUA}/parts/line.lua", "elseif not fits(permits, tonumber(limit)) then",
         "elseif not is_second and not fits(permits, tonumber(limit)) then"),
        (f"{LUA}/parts/line.lua", "      if permits == 0 then return end", "      if is_second then return end\n      is_second = true")]),
    ("second-in-line", "zookeeper-1", "none", "untold", "TWIN-UNAWARE", [
        ("lockkit/backends/zookeeper/zk_line.c", "stand.is_granted = place == 0;", "stand.is_granted = place <= 1;")]),
    ("overlooks-the-last-five", "etcd-1", "none", "untold", "TWIN-UNAWARE", [
        ("lockkit/backends/etcd/etcd_line.c", "if (created_at >= revision)", "if (created_at >= revision - 5)")]),
    # A waiter that gives up keeps its place, and gets the lock. Where a TTL frees it, that costs time only.
    ("late-grant-kept", "zookeeper-1", "work-held", "", "STUCK", [
        (QUEUE, "    if (is_anything_begun(lease))\n        lease_withdraw(lease);\n    else\n        lease_end(lease);\n}\n\n/* On LK_OK",
         "    lease_end(lease);\n}\n\n/* On LK_OK")]),
    # A wait is over before the paused server has answered.
    *((f"{server}-silence-is-busy", server, "pause-held", "", "ERROR-AS-BUSY", [
        (QUEUE, "return queue->is_trying ? LK_UNKNOWN : LK_UNAVAILABLE;", "return LK_TIMEOUT;")])
      for server in ("redis", "etcd-1", "postgres")),
    # The worker keeps the fence to itself, so none stops a write that is on its way.
    ("adapter-without-fence", "redlock-1", "stop-write", "", "NO-FENCE", [
        ("lockjudge/adapters/lockkit.c", "if (fence > 0)", "if (fence == 0)")]),
]


class Tree:
    """A copy of lockkit's sources and objects, in which one mutant after the other is built."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lockkit-mutants-"))
        for name in SOURCES + [f"{BUILD}/{name}" for name in OBJECTS]:
            source, target = ROOT / name, self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            elif source.exists():
                shutil.copy2(source, target)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def build(self, name, replacements):
        """The path of the mutant's worker. `replacements`: file, text before, text after."""
        touched = {}
        try:
            for file, before, after in replacements:
                path = self.folder / file
                text = path.read_text()
                touched.setdefault(path, text)
                if text.count(before) != 1:
                    raise AssertionError(f"mutant {name}: {file} has {text.count(before)} times, not once: {before}")
                path.write_text(text.replace(before, after))
            done = subprocess.run(["make", f"B={BUILD}", f"{BUILD}/bin/lockjudge-lockkit"], cwd=self.folder, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, env=dict(os.environ, REVISION="mutant"))
            if done.returncode != 0:
                raise AssertionError(f"mutant {name} does not compile:\n{done.stdout}{done.stderr}")
            worker = self.folder / name
            (self.folder / BUILD / "bin/lockjudge-lockkit").rename(worker)
            return worker
        finally:
            for path, text in touched.items():
                path.write_text(text)
