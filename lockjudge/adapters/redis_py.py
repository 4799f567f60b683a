#!/usr/bin/python3
"""redis-py: client.lock(). Nothing renews it, and it has no clock of its own: until release(), the program believes to hold it.

Usage: redis_py.py URL"""
import os
import sys

try:
    import redis
except ImportError:
    sys.exit("redis_py.py: python3 has no module redis (Debian: python3-redis): scripts/deps locks")

if len(sys.argv) != 2:
    sys.exit(__doc__)
client, lock = redis.Redis.from_url(sys.argv[1]), None


def do(verb, name="", ttl_ms=0, wait_ms=0):
    global lock
    if verb == "acquire":
        lock = client.lock(name, timeout=int(ttl_ms) / 1000, blocking_timeout=int(wait_ms) / 1000)
        return "held -" if lock.acquire() else "busy"
    if verb == "check":
        return "held" if lock and lock.local.token else "lost"
    if verb == "fork":
        if pid := os.fork():
            return f"forked {pid}"
        os.dup2(3, 0), os.dup2(4, 1)
        return "ready"
    lock.release()
    return "released"


print("ready caps=ttl,fork", flush=True)
for line in sys.stdin:
    try:
        answer = do(*line.split())
    except redis.exceptions.LockError:
        answer = "lost"  # only release() raises it: the key is gone, or another's
    except redis.exceptions.RedisError as error:
        answer = "error " + " ".join(str(error).split())
    print(answer, flush=True)
