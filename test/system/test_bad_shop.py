"""loadgen --shop against a shop that breaks its connections and its replies: each customer gets the right word, and nothing of the
shop's replies reaches terminal or files raw."""

import collections
import json
import re
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from harness import BUILD, ROOT
from shop_server import ShopHandler, ShopServer

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
PAGE = "<html>\x1b[31m\x07\x9b<script>alert(1)</script>"
FILE = """shop Bad
base http://127.0.0.1:{port}
== setup ==
POST /stock
{{"stock": {{{{stock}}}}}}
HTTP 200
== order ==
POST /orders
{{"key": "{{{{key}}}}"}}
HTTP *
[Captures]
order: jsonpath "$.id"
== outcome ==
sold     jsonpath "$.state" == "paid"
soldout  jsonpath "$.error" == "soldout"
busy     status == 429
== ledger command sh ==
[Orders]
cat {folder}/orders
[Stock]
cat {folder}/stock
"""


class Shop(ShopHandler):
    wbufsize = 0  # each write leaves at once
    # Each one is a way to answer an order. The value: the word that its customer gets, "" for that of the sale.
    ways = {"good": "", "slow": "", "large": "", "busy": "busy", "reset": "unknown", "drop": "unknown", "huge": "unknown",
            "half": "unknown", "page": "unknown", "silent": "unknown", "garbage": "unknown", "cut": "unknown"}

    def do_POST(self):  # noqa: N802
        said, shop = self.said(), self.server
        if self.path == "/stock":
            with shop.lock:
                shop.open_sale(said["stock"])
            self.say(200, b"{}")
            return
        with shop.lock:
            way = shop.next_way()
            reply = b"{}" if way == "busy" else json.dumps(shop.sell(said["key"])).encode()
            shop.words[self.ways[way] or ("sold" if b"paid" in reply else "sold_out")] += 1
        getattr(self, way)(reply)

    def say(self, status, body, kind="application/json", length=None):
        head = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nRetry-After: 1\r\nContent-Length: {length or len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def end(self):
        self.close_connection = True

    def good(self, reply):
        self.say(200, reply)

    def slow(self, reply):
        for at in range(len(reply)):
            if at == 0:
                self.say(200, reply[:1], length=len(reply))
            else:
                self.wfile.write(reply[at:at + 1])

    def large(self, reply):
        self.say(200, reply + 8192 * b" ")

    def busy(self, _):
        self.say(429, b"{}")

    def reset(self, _):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.end()

    def drop(self, _):
        self.end()

    def huge(self, reply):
        self.say(200, reply + 8 * 1024 * 1024 * b" ")

    def half(self, _):
        self.say(200, b'{"state": ')

    def page(self, _):
        self.say(500, PAGE.encode("latin-1"), "text/html")

    def silent(self, _):
        self.server.is_over.wait()
        self.end()

    def garbage(self, _):
        self.wfile.write(b"\x1b[2J\x07 this is no HTTP\r\n\r\n")
        self.end()

    def cut(self, reply):
        self.say(200, reply, length=len(reply) + 1)
        self.end()


class Server(ShopServer):
    def __init__(self, folder):
        super().__init__(Shop)
        self.folder, self.is_over = folder, threading.Event()

    def open_sale(self, stock):
        self.stock, self.orders, self.count = stock, [], 0
        self.words = collections.Counter()
        self.keep()

    def next_way(self):
        """A stock of at most 3 is that of the check, which a shop must pass."""
        self.count += 1
        return "good" if self.is_checked() else list(Shop.ways)[self.count % len(Shop.ways)]

    def is_checked(self):
        return self.stock + len(self.orders) <= 3

    def sell(self, key):
        order = f"o-{key}"
        if all(known["order_id"] != order for known in self.orders):
            if self.stock == 0:
                return {"error": "soldout"}
            self.stock -= 1
            self.orders.append({"order_id": order, "quantity": 1, "key": key})
            self.keep()
        return {"state": "paid", "id": order}

    def keep(self):
        (self.folder / "orders").write_text("\n".join(map(json.dumps, self.orders)))
        (self.folder / "stock").write_text(json.dumps({"left": self.stock}))

    def handle_error(self, *_):
        pass


class BadShop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server(self.folder)
        (self.folder / "bad.shop").write_text(FILE.format(port=self.server.server_port, folder=folder.name))
        self.addCleanup(self.server.end)
        self.addCleanup(self.server.is_over.set)

    def expect_clean(self, text, where):
        self.assertIsNone(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), where)
        self.assertNotIn("<script>alert", text, where)

    def test_each_customer_gets_the_right_word(self):
        done = subprocess.run([PROGRAM, "--shop", str(self.folder / "bad.shop"), "--customers", "96", "--stock", "40", "--rate", "100",
                               "--timeout", "4s", "--results", str(self.folder / "results"), "--no-progress"], capture_output=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        said = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, 2, said)
        self.assertIn("no rule matches", said)
        self.assertRegex(said, r"loadgen: \d+ orders got no reply to a request; the first: line 8: no reply: ")
        self.expect_clean(said, "terminal")
        results = self.folder / "results/latest"
        for path in results.iterdir():
            if path.suffix in (".html", ".json", ".ndjson", ".txt", ".csv"):
                text = path.read_text()
                self.expect_clean(text.replace("<script>alert", "") if path.suffix == ".ndjson" else text, path.name)
        outcomes = json.loads((results / "summary.json").read_text())["strategies"][0]["outcomes"]
        self.assertEqual({word: count for word, count in outcomes.items() if count > 0}, dict(self.server.words))
        self.assertEqual(sum(outcomes.values()), 96)


if __name__ == "__main__":
    unittest.main()
