"""A student's shop on SQLite. It reads the count, checks it, and writes it, so it oversells.

Usage: python3 shop.py PORT DATABASE      several processes may share the database
  POST /products {"name": "Lamp", "count": 50}  ->  201 {"product": 1}
  POST /orders {"product": 1}                   ->  201 {"order": 1}, or 409 {"error": "sold out"}
  GET /                                         ->  200 "shop.py"
"""

import contextlib
import json
import sqlite3
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TABLES = """
CREATE TABLE IF NOT EXISTS product (id INTEGER PRIMARY KEY, name TEXT, count INTEGER);
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, product INTEGER, shipping INTEGER, remaining INTEGER);
"""


def create(db, wanted):
    with db:
        return 201, {"product": db.execute("INSERT INTO product (name, count) VALUES (:name, :count)", wanted).lastrowid}


def ask_shipping():
    """The carrier says what the parcel costs. Its service takes about 50 ms."""
    time.sleep(0.05)
    return 490


def sell(db, product):
    (count,) = db.execute("SELECT count FROM product WHERE id = ?", [product]).fetchone()
    if count <= 0:
        return 409, {"error": "sold out"}
    shipping = ask_shipping()
    with db:  # one transaction
        db.execute("UPDATE product SET count = ? WHERE id = ?", [count - 1, product])
        order = db.execute("INSERT INTO orders (product, shipping, remaining) VALUES (?, ?, ?)", [product, shipping, count - 1])
    return 201, {"order": order.lastrowid}


def serve(sell):
    class Shop(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(200, sys.argv[0].rpartition("/")[2])

        def do_POST(self):
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with contextlib.closing(sqlite3.connect(sys.argv[2], timeout=30)) as db:
                status, reply = create(db, wanted) if self.path == "/products" else sell(db, wanted["product"])
            self.reply(status, reply)

        def reply(self, status, reply):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_):
            pass

    with contextlib.closing(sqlite3.connect(sys.argv[2], timeout=30)) as db:
        db.executescript(TABLES)
    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()


if __name__ == "__main__":
    serve(sell)
