"""A lock of redis-py, with commands on stdin: `take NAME TTL_MS WAIT_MS` answers held or busy, `extend TTL_MS`
answers extended or lost, `give` answers given or lost."""
import sys

import redis
from redis.exceptions import LockError


def take(client, name, ttl_ms, wait_ms):
    lock = client.lock(name, timeout=int(ttl_ms) / 1000, sleep=0.02)
    return lock, "held" if lock.acquire(blocking=wait_ms != "0", blocking_timeout=int(wait_ms) / 1000) else "busy"


def change(action, done):
    try:
        action()
        return done
    except LockError:  # LockNotOwnedError is one
        return "lost"


def main():
    client, lock = redis.Redis.from_url(sys.argv[2]), None
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "take":
            lock, answer = take(client, *words)
        elif verb == "extend":
            answer = change(lambda: lock.extend(int(words[0]) / 1000, replace_ttl=True), "extended")
        else:
            answer = change(lock.release, "given")
        print(answer, flush=True)


main()
