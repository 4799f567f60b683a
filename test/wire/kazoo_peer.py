"""A lock of kazoo, with commands on stdin: `take PATH WAIT_MS` answers held or busy, `give` answers given. The arguments are
the servers and the class: Lock, WriteLock or ReadLock."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout


def take(lock, wait_ms):
    try:
        return "held" if lock.acquire(blocking=wait_ms > 0, timeout=wait_ms / 1000 or None) else "busy"
    except LockTimeout:
        return "busy"


def main():
    client, lock = KazooClient(hosts=sys.argv[1]), None
    client.start()
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "take":
            lock = getattr(client, sys.argv[2])(words[0], "a kazoo")
            print(take(lock, int(words[1])), flush=True)
        else:
            lock.release()
            print("given", flush=True)
    client.stop()


main()
