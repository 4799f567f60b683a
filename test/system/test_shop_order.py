"""loadgen shop order: one unit of a shop that a file describes, shown step by step."""

import json
import os
import signal
import ssl
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import BUILD, ROOT, Ledger, SystemTest

PROGRAM = str(ROOT / BUILD / "bin/loadgen")
LEDGER = """
== ledger postgres x ==
[Orders]
SELECT 1
[Stock]
SELECT 2
"""
HEAD = "shop Strange\nbase http://127.0.0.1:{port}\n"
OUTCOME = '== outcome ==\nsold jsonpath "$.state" == "paid"\nbusy status == 429\n' + LEDGER
HOSTILE = "\x1b[2J\x1b]0;x\x07\r\x9b2J\u202e\u2028\x7f"


def write(text):
    with tempfile.NamedTemporaryFile("w", suffix=".shop", delete=False) as file:
        file.write(text)
    return file.name


class OwnShop(SystemTest):
    def order(self, stock, file="order-svc/order-svc"):
        text = (ROOT / f"shops/{file}.shop").read_text()
        for port, name in (8000, "order-svc"), (8001, "inventory-1"), (8002, "inventory-2"):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{self.stack.port(name)}")
        path = write(text.replace("set strategy none", "set strategy atomic"))
        self.addCleanup(os.unlink, path)
        return self.stack.loadgen("shop", "order", path, "--stock", str(stock))

    def test_a_unit_of_the_own_services_is_ordered_and_shown(self):
        done = self.order(3)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("> POST /orders HTTP/1.1\n", done.stdout)
        self.assertIn("< HTTP/1.1 201 Created\n", done.stdout)
        self.assertRegex(done.stdout, r"= order: [0-9a-f-]{36}\n")
        self.assertRegex(done.stdout, r"\* order: sold, by the rule in line \d+\n")
        body = next(line[2:] for line in done.stdout.splitlines() if line.startswith('< {"'))
        ledger = Ledger(self.stack, json.loads(body)["product_id"])
        ledger.check(self)
        self.assertEqual((ledger.sold, ledger.available), (1, 2))

    def test_each_file_of_the_own_services_sells_until_there_is_no_stock(self):
        for file in "order-svc/order-svc", "article/place-an-order", "article/minus-inventory":
            for stock, code, word in (1, 0, "sold"), (0, 1, "soldout"):
                with self.subTest(file, stock=stock):
                    done = self.order(stock, file)
                    self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                    self.assertRegex(done.stdout, rf"\* order: {word}, by the rule in line \d+\n")


class Shop(BaseHTTPRequestHandler):
    """/set gives a cookie and a token, /cart needs them, /429, /html, /hostile, /away redirects; /silent never answers."""
    protocol_version = "HTTP/1.1"

    def reply(self, status, text, **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        if self.path == "/set":
            self.reply(200, '<input name="csrf" value="t0ken">', Set_Cookie="cart=c1; Path=/")
        elif self.path == "/long":
            self.reply(200, "x" * (16 * 1024 - 3) + "s3cret/" + "y" * 10)
        elif self.path == "/html":
            self.reply(200, "<html>paid</html>")
        elif self.path == "/hostile":
            self.reply(200, HOSTILE, X_Hostile="a\x9bb")
        elif self.path == "/silent":
            self.server.is_asked.set()
            self.server.silence.wait()

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/429":
            self.reply(429, "slow down", Retry_After="7")
        elif self.path == "/away":
            self.reply(303, "", Location="/thanks?order=o%201")
        else:
            said = {"state": "paid", "cookie": self.headers["Cookie"], "body": body, "path": self.path,
                    "key": self.headers["X-Key"], "type": self.headers["Content-Type"]}
            self.reply(200, json.dumps(said))

    def log_message(self, *_):
        pass


class StrangeShops(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
        self.server.silence, self.server.is_asked = threading.Event(), threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.silence.set)

    def order(self, text, *args, env=None, code=0):
        path = write(text.replace("{port}", str(self.server.server_port)))
        self.addCleanup(os.unlink, path)
        done = subprocess.run([PROGRAM, "shop", "order", path, *args], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stdout + done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]")
        return done.stdout if code not in (64, 66) else done.stderr

    def test_cookies_forms_and_a_token_of_a_page(self):
        said = self.order(HEAD + '== prepare ==\nGET /set\nHTTP 200\n[Captures]\ntoken: regex /name="csrf" value="(\\w+)"/\n'
                          'cart: cookie "cart"\n== order ==\nPOST /cart/{{cart}}\n[Form]\ncsrf: {{token}} & more\nHTTP 200\n'
                          '[Captures]\nbody: jq ".body"\ncookie: jsonpath "$.cookie"\npath: jsonpath "$[\'path\']"\n' + OUTCOME)
        for line in ["= token: t0ken", "= cart: c1", "= body: csrf=t0ken+%26+more", "= cookie: cart=c1", "= path: /cart/c1",
                     "> csrf=t0ken+%26+more", "> Cookie: cart=c1", "* order: sold, by the rule in line 19"]:
            self.assertIn(line + "\n", said)

    def test_secrets_are_masked_wherever_they_appear(self):
        said = self.order(HEAD + "env SHOP_KEY\n== order ==\nPOST /x?k={{SHOP_KEY}}\nX-Key: {{SHOP_KEY}}\n[Form]\n"
                          'k: {{SHOP_KEY}}\nHTTP 200\n[Captures]\nsent: jsonpath "$.key"\nstate: jsonpath "$.state" redact\n'
                          + OUTCOME, env={"SHOP_KEY": 'se cr"et/1'})
        self.assertNotIn("cr", said.replace("order", "").replace("Secret", ""))
        self.assertIn("> X-Key: ***\n", said)
        self.assertIn("= sent: ***\n", said)
        self.assertIn('< {"state": "***"', said)

    def test_no_part_of_a_secret_is_left_where_a_body_is_cut(self):
        said = self.order(HEAD + "env SHOP_KEY\n== order ==\nGET /long\nHTTP 200\n" + OUTCOME, env={"SHOP_KEY": "s3cret/"}, code=2)
        self.assertIn("x***\n* 10 more bytes\n", said)

    def test_a_redirect_is_shown_and_not_followed(self):
        said = self.order(HEAD + '== order ==\nPOST /away\n{"a": 1}\nHTTP 303\n[Captures]\nto: header "Location"\nPOST {{to}}\n'
                          "{}\nHTTP 200\n[Captures]\npath: jsonpath \"$.path\"\n" + OUTCOME)
        self.assertIn("= to: /thanks?order=o%201\n", said)
        self.assertIn("= path: /thanks?order=o%201\n", said)
        self.assertIn("> Content-Type: application/json\n", said)

    def test_replies_that_no_rule_matches_are_unknown(self):
        for step, reason in [("GET /html\nHTTP 200\n", "no rule of the outcome holds for the last reply"),
                             ("GET /html\nHTTP 201\n", "the reply has status 200, and not 201"),
                             ('GET /html\nHTTP 200\n[Asserts]\nbody contains "sold"\n', "this assert does not hold"),
                             ('GET /html\nHTTP 200\n[Captures]\na: jsonpath "$.a"\n', "{{a}} found nothing in the reply")]:
            with self.subTest(reason):
                said = self.order(HEAD + "== order ==\n" + step + OUTCOME, code=2)
                self.assertIn("* order: unknown\n", said)
                self.assertIn(reason, said)

    def test_other_words(self):
        said = self.order(HEAD + "== order ==\nPOST /429\n{}\nHTTP 200\n" + OUTCOME, code=1)
        self.assertIn("* order: busy, by the rule in line 9\n", said)
        self.assertIn("< Retry-After: 7\n", said)
        said = self.order(HEAD + "== prepare ==\nGET /html\nHTTP 404\n== order ==\nPOST /x\n{}\nHTTP *\n" + OUTCOME, code=1)
        self.assertIn("* prepare: failed\n", said)
        self.assertNotIn("== order ==", said)

    def test_silence_before_the_mark_is_refused_and_after_it_unknown(self):
        silent = "GET /silent\nHTTP *\n"
        for timeout in 100, 400, 1600, 6400:  # where the machine stalls, nothing leaves in time
            said = self.order(HEAD + "== order ==\n" + silent + OUTCOME, "--timeout", f"{timeout}ms", code=(2, 69))
            if "* order: unknown\n" in said:
                break
        else:
            self.fail(said)
        said = self.order(HEAD + "== order ==\n" + silent + "== commit ==\nPOST /x\n{}\nHTTP *\n" + OUTCOME, "--timeout", "100ms",
                          code=(1, 69))
        self.assertIn("* order: refused\n", said)

    def test_an_interrupt_breaks_off_the_request_and_still_tears_down(self):
        path = write((HEAD + "== order ==\nGET /silent\nHTTP *\n" + OUTCOME + "== teardown ==\nGET /html\nHTTP 200\n")
                     .replace("{port}", str(self.server.server_port)))
        self.addCleanup(os.unlink, path)
        with subprocess.Popen([PROGRAM, "shop", "order", path], stdout=subprocess.PIPE, text=True) as order:
            self.assertTrue(self.server.is_asked.wait(20))
            order.send_signal(signal.SIGINT)
            said, _ = order.communicate(timeout=20)
        self.assertEqual(order.returncode, 130, said)
        self.assertIn("* order: unknown\n* line 4: no reply: cancelled\n== teardown ==\n", said)
        self.assertIn("* teardown: done\n", said)

    def test_hostile_bytes_reach_no_terminal(self):
        self.order(HEAD + '== order ==\nGET /hostile\nHTTP 200\n[Captures]\na: body\nb: header "X-Hostile"\n' + OUTCOME, code=2)

    def test_public_shops_need_a_word(self):
        text = "shop Far\nbase http://192.0.2.1\n== order ==\nPOST /x\n{}\nHTTP *\n" + OUTCOME
        self.assertIn("192.0.2.1 is neither loopback nor private: it would buy things there; --this-shop-is-mine allows it",
                      self.order(text, code=69))
        self.assertNotIn("neither", self.order(text, "--this-shop-is-mine", "--timeout", "1ms", code=69))

    def test_a_certificate_that_nobody_signed_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout",
                            folder + "/key", "-out", folder + "/certificate"], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder + "/certificate", folder + "/key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        text = HEAD.replace("http:", "https:") + "== order ==\nPOST /x\n{}\nHTTP *\n" + OUTCOME
        self.assertIn("no reply: SSL certificate problem: self", self.order(text, code=69))

    def test_mistakes_are_refused_before_any_request(self):
        order = "== order ==\nPOST /x\n{}\nHTTP *\n"
        for head, tail, code, reason in [("shap X\n", "", 64, ":1:"),
                                         ("env NO_SUCH_SECRET\n", "", 64, "the environment has no NO_SUCH_SECRET"),
                                         ("run a exit 3\n", "", 64, "the command ended with exit code 3"),
                                         ("", '[Captures]\na: jq ".["\n', 64, ".shop:8: syntax error, unexpected"),
                                         ("", "[Captures]\na: regex /(/\n", 64, ".shop:8: Regex failure: end pattern with unmatched parenthesis")]:
            with self.subTest(reason):
                text = head + HEAD if head.startswith("shap") else HEAD + head
                # libjq 1.6 loses the memory of a message about an expression.
                env = {"ASAN_OPTIONS": "detect_leaks=0"} if "regex" in tail else None
                self.assertIn(reason, self.order(text + order + tail + OUTCOME, code=code, env=env))
        done = subprocess.run([PROGRAM, "shop", "order", "/nowhere.shop"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (66, "loadgen: /nowhere.shop: No such file or directory\n"))

    def test_nobody_listens(self):
        text = HEAD.replace("{port}", "1") + "== order ==\nPOST /x\n{}\nHTTP *\n" + OUTCOME
        self.assertIn("* order: refused\n", self.order(text, code=69))


if __name__ == "__main__":
    unittest.main()
