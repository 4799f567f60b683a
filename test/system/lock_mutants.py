"""A worker of lockjudge over a lock in Redis that is right, or has one fault on purpose:

    lock_mutants.py URL right|blind-release|renewal-creates|counter-resets|clock-after-reply|no-clock|no-ttl|no-renewal
                        |wall-clock|client-expiry|child-believes|child-frees|late-renewal

Standard library only."""

import os
import re
import socket
import sys
import threading
import time
import uuid

GET = """if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[1] .. ':fence') end
return 0"""
GET_FOR_EVER = GET.replace(", 'PX', ARGV[2]", "")
# The client's clock says when the lock of another has ended: the time is ARGV[3].
GET_BY_CLIENT = """local ends = redis.call('GET', KEYS[1] .. ':ends')
if redis.call('EXISTS', KEYS[1]) == 1 and ends and tonumber(ends) > tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[1] .. ':ends', ARGV[3] + ARGV[2], 'PX', ARGV[2])
return redis.call('INCR', KEYS[1] .. ':fence')"""
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
        self.url, self.redis, self.renewing, self.mutant = url, Redis(url), Redis(url), mutant
        self.token, self.valid_until, self.guard = None, 0.0, threading.Lock()
        self.now, self.loaded_until = time.time if mutant == "wall-clock" else time.monotonic, 0.0
        self.asking = threading.Lock()

    def acquire(self, name, ttl_ms, wait_ms):
        end, script = time.monotonic() + wait_ms / 1000, {"no-ttl": GET_FOR_EVER, "client-expiry": GET_BY_CLIENT}.get(self.mutant, GET)
        while True:
            token, began = uuid.uuid4().hex, self.now()
            with self.asking:
                fence = self.redis.run(script, name, token, ttl_ms, int(time.time() * 1000))
            if fence:
                with self.guard:
                    began = self.now() if self.mutant == "clock-after-reply" else began
                    self.name, self.token, self.ttl_ms, self.valid_until = name, token, ttl_ms, began + ttl_ms / 1000
                threading.Thread(target=self.renew, args=(token,), daemon=True).start()
                return f"held {fence}" if self.check() == "held" else "busy"
            if time.monotonic() > end:
                return "busy"
            time.sleep(0.02)

    def renew(self, token):
        while self.mutant not in ("no-renewal", "no-clock", "wall-clock"):
            time.sleep(self.ttl_ms / 3000)
            began = time.monotonic()
            while self.mutant == "late-renewal" and time.monotonic() < self.loaded_until:
                time.sleep(0.01)
            with self.guard:
                if self.token != token:
                    return
                if self.renewing.run(CREATE if self.mutant == "renewal-creates" else RENEW, self.name, token, self.ttl_ms) == 0:
                    self.token = None
                    return
                self.valid_until = began + self.ttl_ms / 1000

    def check(self):
        is_late = self.now() >= self.valid_until and self.mutant not in ("no-clock", "renewal-creates")
        return "held" if self.token and not is_late else "lost"

    def release(self):
        with self.guard:
            token, self.token = self.token, None
        free = {"blind-release": FREE_ANY, "counter-resets": FREE_ALL}.get(self.mutant, FREE)
        with self.asking:
            return "released" if self.redis.run(free, self.name, token or "none") else "lost"

    def load(self, name, count, ttl_ms, for_ms):
        self.loaded_until = time.monotonic() + for_ms / 1000
        if self.mutant != "late-renewal":  # it needs no processor to be late, so a busy machine does not hide it
            threading.Thread(target=self.churn, args=(name, count, ttl_ms), daemon=True).start()
        return "loaded"

    def churn(self, name, count, ttl_ms):
        while time.monotonic() < self.loaded_until:
            for number in range(count):
                with self.asking:
                    self.redis.run(GET, f"{name}-{number}", "other", ttl_ms)
                    self.redis.run(FREE, f"{name}-{number}", "other")

    def fork(self):
        if child := os.fork():
            return f"forked {child}"
        os.dup2(3, 0), os.dup2(4, 1)
        if self.mutant not in ("child-believes", "child-frees"):
            self.token = None
        self.redis = Redis(self.url)
        if self.mutant == "child-frees":
            self.check = lambda: "lost"
        return "ready"


def main():
    lock = Lock(sys.argv[1], sys.argv[2])
    print("ready caps=ttl,fence,renew,fork,load", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            answer = getattr(lock, verb)(*(int(word) if word.isdigit() else word for word in words))
        except OSError as error:
            answer = f"error {error}"
        print(answer, flush=True)


if __name__ == "__main__":
    main()
