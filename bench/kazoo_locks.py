"""For bench/run: acquires and releases a Lock of kazoo at SERVERS for SECONDS, and prints the cycles a second. Run it with the
system's python3, which has Debian's kazoo."""

import sys
import time

from kazoo.client import KazooClient


def main():
    client, seconds, cycles = KazooClient(hosts=sys.argv[1]), float(sys.argv[2]), 0
    client.start()
    lock = client.Lock("/kazoo/bench")
    with lock:
        pass
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        with lock:
            cycles += 1
    print(cycles / (time.monotonic() - began))
    client.stop()


main()
