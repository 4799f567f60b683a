#!/usr/bin/python3
"""kazoo: client.Lock() of ZooKeeper, with a listener of the session's state (its documentation asks for it). The session has the TTL.

Usage: kazoo_lock.py HOST:PORT"""
import contextlib
import os
import sys
import threading
import time

try:
    from kazoo.client import KazooClient, KazooState
    from kazoo.exceptions import KazooException, LockTimeout
    from kazoo.handlers.threading import KazooTimeoutError
except ImportError:
    sys.exit("kazoo_lock.py: python3 has no module kazoo (Debian: python3-kazoo): scripts/deps locks")

if len(sys.argv) != 2:
    sys.exit(__doc__)
client, lock, is_lost = None, None, False


def say(text):
    sys.stdout.write(text + "\n")  # once: the listener has a thread of its own
    sys.stdout.flush()


def on_state(state):
    global is_lost
    if lock and lock.is_acquired:
        is_lost = is_lost or state == KazooState.LOST
        say({KazooState.SUSPENDED: "!suspect", KazooState.LOST: "!lost"}.get(state, "!lost" if is_lost else "!held"))


def churn(path, end):
    while time.monotonic() < end:
        with contextlib.suppress(KazooException, client.handler.timeout_exception):
            with client.Lock(path):
                pass


def load(name, count, _, for_ms):
    end = time.monotonic() + int(for_ms) / 1000
    for number in range(int(count)):
        threading.Thread(target=churn, args=(f"/lockjudge/{name}-{number}", end), daemon=True).start()
    return "loaded"


def do(verb, name="", ttl_ms=0, wait_ms=0, for_ms=0):
    global client, lock, is_lost
    if verb == "acquire":
        if client is None:
            new = KazooClient(hosts=sys.argv[1].split("://")[-1], timeout=int(ttl_ms) / 1000)
            new.add_listener(on_state)
            new.start(timeout=5)
            client = new  # it reconnects by itself; a second start() would never return
        lock, is_lost = client.Lock("/lockjudge/" + name), False
        try:
            return "held -" if lock.acquire(blocking=wait_ms != "0", timeout=int(wait_ms) / 1000 or None) else "busy"
        except LockTimeout:
            return "busy"
    if verb == "load":
        return load(name, ttl_ms, wait_ms, for_ms)
    if verb == "fork":
        if pid := os.fork():
            return f"forked {pid}"
        os.dup2(3, 0), os.dup2(4, 1)
        return "ready"
    if verb == "check":
        return "held" if lock and lock.is_acquired and not is_lost else "lost"
    return "released" if lock.release() and not is_lost else "lost"


say("ready caps=ttl,renew,fair,told,fork,load")
for line in sys.stdin:
    try:
        answer = do(*line.split())
    except (KazooException, KazooTimeoutError) as error:
        answer = "error " + " ".join((str(error) or type(error).__name__).split())
    say(answer)
