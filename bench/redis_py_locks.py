"""For bench/run: THREADS acquire and release a Lock of redis-py at URL for SECONDS, each under its own name. Prints the cycles a
second, and the CPU of a cycle in microseconds. Run it with the system's python3, which has Debian's redis-py."""

import resource
import sys
import threading
import time

import redis


def main():
    url, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    client, counts, end = redis.Redis.from_url(url), [0] * threads, time.monotonic() + seconds

    def cycle(number):
        lock = client.lock(f"redis-py-{number}", timeout=10)
        while time.monotonic() < end:
            with lock:
                counts[number] += 1

    workers = [threading.Thread(target=cycle, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(sum(counts) / seconds, (used.ru_utime + used.ru_stime) * 1e6 / max(1, sum(counts)))


main()
