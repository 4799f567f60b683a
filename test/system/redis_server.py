"""A Redis server of a test's own, with a password, for tests that need no whole stack."""

import os
import shutil
import signal
import subprocess
import tempfile

from harness import PORT_BASE, wait_for

PORT = PORT_BASE + 91
PASSWORD = "s3cret-of-the-test"
URL = f"redis://:{PASSWORD}@127.0.0.1:{PORT}"


class RedisServer:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="sale-redis-")
        self.process = subprocess.Popen(["redis-server", "-"], cwd=self.dir, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.process.stdin.write(f'port {PORT}\nbind 127.0.0.1\nsave ""\nrequirepass {PASSWORD}\n'.encode())
        self.process.stdin.close()
        try:
            wait_for("redis-server", lambda: self.ask("ping") == "PONG")
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def ask(*command):
        """What redis-cli prints."""
        return subprocess.run(["redis-cli", "-p", str(PORT), *command], env=dict(os.environ, REDISCLI_AUTH=PASSWORD),
                              capture_output=True, text=True, timeout=10).stdout.strip()

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)
