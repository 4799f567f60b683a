"""Bad requests: each gets a clear status and a reason in JSON, and the service keeps serving."""

import json
import re
import unittest
import uuid

from harness import ARTICLE_PRODUCT, SystemTest

SOME_ID = "0190b2a8-7f00-7000-8000-000000000001"
HOST = b"Host: localhost\r\n"
JSON_TYPE = b"Content-Type: application/json\r\n"


def post(body, headers=JSON_TYPE, target=b"/orders"):
    if isinstance(body, str):
        body = body.encode()
    return b"POST %s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s" % (target, HOST, headers, len(body), body)


def reserve(body, product=ARTICLE_PRODUCT):
    return post(body, target=f"/products/{product}/reservations".encode())


def line(request_line, headers=HOST):
    return request_line + b"\r\n" + headers + b"\r\n"


TRUSTED = HOST + b"Authorization: Bearer <secret>\r\n"  # filled in when it is sent
GOOD_BODY = json.dumps({"product_id": ARTICLE_PRODUCT})

# name: (request, status, part of the error code or message)
ORDER_SVC = {
    # Malformed HTTP
    "garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, ""),
    "no version": (line(b"GET /orders"), 505, ""),
    "HTTP/2.0": (line(b"GET / HTTP/2.0"), 505, ""),
    "unknown version": (line(b"GET / HTTP/9.9"), 505, ""),
    "unknown method": (line(b"BREW /orders HTTP/1.1"), 400, ""),
    "lower-case method": (line(b"post /orders HTTP/1.1"), 400, ""),
    "no Host": (line(b"GET /healthz HTTP/1.1", b""), 400, ""),
    "two Hosts": (line(b"GET /healthz HTTP/1.1", HOST + HOST), 400, ""),
    "foreign Host": (line(b"GET /healthz HTTP/1.1", b"Host: evil.example\r\n"), 421, "--allow-host"),
    "foreign Origin": (line(b"GET /healthz HTTP/1.1", HOST + b"Origin: http://evil.example\r\n"), 403, "foreign_origin"),
    "space in a header name": (line(b"GET /healthz HTTP/1.1", HOST + b"Bad Header: x\r\n"), 400, ""),
    "space before the colon": (line(b"GET /healthz HTTP/1.1", HOST + b"Accept : x\r\n"), 400, ""),
    "NUL in a header": (line(b"GET /healthz HTTP/1.1", HOST + b"A: x\0y\r\n"), 400, ""),
    "bare CR in a header": (line(b"GET /healthz HTTP/1.1", HOST + b"A: x\ry\r\n"), 400, ""),
    "negative Content-Length": (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400, ""),
    "Content-Length of words": (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: ten\r\n\r\n", 400, ""),
    "Content-Length too large for a number":
        (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n", 400, ""),
    "two Content-Lengths":
        (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400, ""),
    "Content-Length and chunked":
        (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, ""),
    "unknown transfer coding":
        (b"POST /orders HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n", (400, 501), ""),
    "bad chunk size":
        (b"POST /orders HTTP/1.1\r\n" + HOST + JSON_TYPE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
         400, ""),
    # Limits
    "header too large": (line(b"GET /healthz HTTP/1.1", HOST + b"A: " + b"x" * 20000 + b"\r\n"), 431, ""),
    "too many headers": (line(b"GET /healthz HTTP/1.1", HOST + b"A: b\r\n" * 5000), 431, ""),
    "target too long": (line(b"GET /" + b"x" * 20000 + b" HTTP/1.1"), (414, 431), ""),
    "body too large": (post(b'{"product_id": "' + b"x" * 70000 + b'"}'), 413, ""),
    "body announced too large": (b"POST /orders HTTP/1.1\r\n" + HOST + b"Content-Length: 9999999\r\n\r\n", 413, ""),
    "chunked body too large":
        (b"POST /orders HTTP/1.1\r\n" + HOST + JSON_TYPE + b"Transfer-Encoding: chunked\r\n\r\n"
         + b"10000\r\n" + b"x" * 65536 + b"\r\n" + b"10\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n", 413, ""),
    # Paths and methods
    "unknown path": (line(b"GET /nowhere HTTP/1.1"), 404, ""),
    "path climbing": (line(b"GET /../../etc/passwd HTTP/1.1"), 404, ""),
    "GET of a POST path": (line(b"GET /orders HTTP/1.1"), 405, ""),
    "DELETE of an order": (line(f"DELETE /orders/{SOME_ID} HTTP/1.1".encode()), 405, ""),
    "bad percent escape": (line(b"GET /orders/%zz HTTP/1.1"), 400, ""),
    "NUL by escape": (line(b"GET /orders/%00 HTTP/1.1"), 400, ""),
    "order id that is no UUID": (line(b"GET /orders/42 HTTP/1.1"), 400, "UUID"),
    "unknown order": (line(f"GET /orders/{SOME_ID} HTTP/1.1".encode()), 404, "unknown_order"),
    "product id that is no UUID": (line(b"GET /products/42 HTTP/1.1"), 400, "UUID"),
    "article path with a bad id": (line(b"GET /order/placeAnOrder?inventoryId=42 HTTP/1.1"), 400, "UUID"),
    # Wrong JSON, wrong types
    "empty body": (post(""), 400, ""),
    "no JSON": (post("hello"), 400, ""),
    "cut JSON": (post(GOOD_BODY[:-1]), 400, ""),
    "two values": (post(GOOD_BODY + GOOD_BODY), 400, ""),
    "array": (post("[]"), 400, ""),
    "string": (post('"x"'), 400, ""),
    "null": (post("null"), 400, ""),
    "deep nesting": (post("[" * 5000 + "]" * 5000), 400, ""),
    "bad UTF-8": (post(b'{"product_id": "\xff\xfe"}'), 400, ""),
    "escaped NUL": (post('{"product_id": "\\u0000"}'), 400, ""),
    "duplicate key": (post('{"product_id": "x", "product_id": "y"}'), 400, ""),
    "no product": (post("{}"), 400, "product_id"),
    "product of a wrong type": (post('{"product_id": 42}'), 400, "product_id"),
    "product null": (post('{"product_id": null}'), 400, "product_id"),
    "product that is no UUID": (post('{"product_id": "82391173"}'), 400, "product_id"),
    "product with SQL in it": (post('{"product_id": "\'; DROP TABLE orders; --"}'), 400, "product_id"),
    "unknown product": (post(json.dumps({"product_id": SOME_ID})), 404, "unknown_product"),
    "no content type": (post(GOOD_BODY, b""), (201, 415), ""),
    "form content type": (post("product_id=x", b"Content-Type: application/x-www-form-urlencoded\r\n"), 415, ""),
    "key that is no UUID": (post(GOOD_BODY, JSON_TYPE + b"Idempotency-Key: abc\r\n"), 400, "Idempotency-Key"),
}

INVENTORY = {
    "reservation without an order id": (reserve("{}"), 400, "order_id"),
    "order id that is no UUID": (reserve('{"order_id": "1"}'), 400, "order_id"),
    "order id of a wrong type": (reserve('{"order_id": 1}'), 400, "order_id"),
    "reservation of an unknown product": (reserve(json.dumps({"order_id": SOME_ID}), SOME_ID), 404, "unknown_product"),
    "reservation of no UUID": (reserve(json.dumps({"order_id": SOME_ID}), "42"), 400, "UUID"),
    "cancel of no UUID": (line(b"DELETE /reservations/1 HTTP/1.1", TRUSTED), 400, "UUID"),
    "cancel of an unknown reservation": (line(f"DELETE /reservations/{SOME_ID} HTTP/1.1".encode(), TRUSTED), 404,
                                         "unknown_reservation"),
    "cancel without the secret": (line(f"DELETE /reservations/{SOME_ID} HTTP/1.1".encode()), 401, "secret"),
    "list without the secret": (line(b"GET /reservations?since_ms=0 HTTP/1.1"), 401, "secret"),
    "list without a start": (line(b"GET /reservations HTTP/1.1", TRUSTED), 400, ""),
    "list with a bad limit": (line(b"GET /reservations?since_ms=0&limit=lots HTTP/1.1", TRUSTED), 400, "limit"),
    "list with a bad cursor": (line(b"GET /reservations?after=%27%3B HTTP/1.1", TRUSTED), 400, ""),
}

SPECS = {
    "redsi": "redis",  # the message lists the strategies
    "redis,tll=2s": "ttl",
    "redis,ttl=fast": "ttl",
    "redis,ttl=1ns": "ttl",
    "sharded,shards=0": "shards",
    "sharded,shards=many": "shards",
    "none,work=-1ms": "work",
    "none,fail=nowhere:crash": "fail",
    "none,": "",
    ",ttl=2s": "",
}


class BadRequests(SystemTest):
    def check(self, request, statuses, part, to):
        reply = self.stack.raw(request.replace(b"<secret>", self.stack.settings["INVENTORY_SVC_SECRET"].encode()), to)
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", reply)
        self.assertIsNotNone(found, reply)
        status = int(found.group(1))
        self.assertIn(status, statuses if isinstance(statuses, tuple) else (statuses,), reply)
        body = reply.partition(b"\r\n\r\n")[2]
        if status >= 400:
            reason = json.loads(body)
            self.assertTrue(reason["error"] and reason["message"], body)
            self.assertIn(part, reason["error"] + " " + reason["message"])
        self.assertEqual(self.stack.ask("GET", "/healthz", to=to).status, 200, "it does not serve any more")

    def test_order_svc_refuses_each_with_a_reason(self):
        for name, (request, status, part) in ORDER_SVC.items():
            with self.subTest(name):
                self.check(request, status, part, "order-svc")

    def test_inventory_svc_refuses_each_with_a_reason(self):
        malformed = {name: case for name, case in ORDER_SVC.items() if b"/orders" not in case[0] and case[1] != 404
                     and b"/order/" not in case[0] and b"/products/" not in case[0]}
        self.assertGreater(len(malformed), 8)
        for name, (request, status, part) in {**malformed, **INVENTORY}.items():
            with self.subTest(name):
                self.check(request, status, part, "inventory-1")

    def test_a_bad_strategy_is_422_and_says_what_exists(self):
        for spec, part in SPECS.items():
            with self.subTest(spec):
                answer = self.stack.order(self.stack.product(spec))
                self.assertEqual(answer.status, 422, answer.text)
                self.assertEqual(answer.json["error"], "bad_strategy")
                self.assertIn(part, answer.json["message"])

    def test_405_says_what_is_allowed(self):
        answer = self.stack.ask("PUT", "/orders", "{}")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))

    def test_head_has_the_headers_and_no_body(self):
        reply = self.stack.raw(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertTrue(reply.startswith(b"HTTP/1.1 200 "), reply)
        self.assertTrue(reply.endswith(b"\r\n\r\n"), reply)

    def test_half_a_request_harms_nobody(self):
        request = post(GOOD_BODY)
        for length in range(0, len(request), 7):
            self.stack.raw(request[:length], half_close=True)
        self.assertEqual(self.stack.ask("GET", "/readyz").status, 200)

    def test_the_tables_are_still_there(self):
        self.assertEqual(self.stack.order(ARTICLE_PRODUCT, str(uuid.uuid4())).status, 201)


if __name__ == "__main__":
    unittest.main()
