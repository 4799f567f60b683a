"""A worker of lockjudge over a lock in Redis that is right, or has one fault on purpose:

    lock_mutants.py URL right|blind-release|renewal-creates|counter-resets|clock-after-reply|no-clock|no-ttl|no-renewal

Standard library only."""

import re
import socket
import sys
import threading
import time
import uuid

GET = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[1] .. ':fence') end
return 0"""
GET_FOR_EVER = GET.replace(", 'PX', ARGV[2]", "")
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
CREATE = "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1"
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
FREE_ALL = "redis.call('DEL', KEYS[1], KEYS[1] .. ':fence') return 1"
FREE_ANY = "redis.call('DEL', KEYS[1]) return 1"


class Redis:
    def __init__(self, url):
        self.password, host, port = re.fullmatch(r"redis://:(\w+)@([\d.]+):(\d+)/\d+", url).groups()
        self.file = socket.create_connection((host, int(port))).makefile("rwb")
        self.ask("AUTH", self.password)

    def ask(self, *words):
        data = [str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in data))
        self.file.flush()
        reply = self.file.readline()
        if not reply or reply.startswith(b"-"):
            raise OSError(reply.decode().strip() or "the connection ended")
        return int(reply[1:]) if reply.startswith(b":") else 0

    def run(self, script, name, *values):
        return self.ask("EVAL", script, 1, name, *values)


class Lock:
    def __init__(self, url, mutant):
        self.redis, self.renewing, self.mutant = Redis(url), Redis(url), mutant
        self.token, self.valid_until, self.guard = None, 0.0, threading.Lock()

    def acquire(self, name, ttl_ms, wait_ms):
        end, script = time.monotonic() + wait_ms / 1000, GET_FOR_EVER if self.mutant == "no-ttl" else GET
        while True:
            token, began = uuid.uuid4().hex, time.monotonic()
            fence = self.redis.run(script, name, token, ttl_ms)
            if fence:
                with self.guard:
                    began = time.monotonic() if self.mutant == "clock-after-reply" else began
                    self.name, self.token, self.ttl_ms, self.valid_until = name, token, ttl_ms, began + ttl_ms / 1000
                threading.Thread(target=self.renew, args=(token,), daemon=True).start()
                return f"held {fence}" if self.check() == "held" else "busy"
            if time.monotonic() > end:
                return "busy"
            time.sleep(0.02)

    def renew(self, token):
        while self.mutant not in ("no-renewal", "no-clock"):
            time.sleep(self.ttl_ms / 3000)
            began = time.monotonic()
            with self.guard:
                if self.token != token:
                    return
                if self.renewing.run(CREATE if self.mutant == "renewal-creates" else RENEW, self.name, token, self.ttl_ms) == 0:
                    self.token = None
                    return
                self.valid_until = began + self.ttl_ms / 1000

    def check(self):
        is_late = time.monotonic() >= self.valid_until and self.mutant not in ("no-clock", "renewal-creates")
        return "held" if self.token and not is_late else "lost"

    def release(self):
        with self.guard:
            token, self.token = self.token, None
        free = {"blind-release": FREE_ANY, "counter-resets": FREE_ALL}.get(self.mutant, FREE)
        return "released" if self.redis.run(free, self.name, token or "none") else "lost"


def main():
    lock = Lock(sys.argv[1], sys.argv[2])
    print("ready caps=ttl,fence,renew", flush=True)
    for line in sys.stdin:
        verb, *rest = line.split()
        try:
            answer = lock.acquire(rest[0], int(rest[1]), int(rest[2])) if verb == "acquire" else getattr(lock, verb)()
        except OSError as error:
            answer = f"error {error}"
        print(answer, flush=True)


if __name__ == "__main__":
    main()
