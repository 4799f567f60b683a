"""A shop of a test: an HTTP server with threads in the process of the test, which a run of loadgen buys in."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ShopHandler(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", 4096

    def said(self):
        """The JSON of the request; None without a body."""
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")

    def reply(self, status, reply):
        """`reply` is a text, or becomes JSON."""
        body = (reply if isinstance(reply, str) else json.dumps(reply)).encode()
        with contextlib.suppress(OSError):  # loadgen may be gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class ShopServer(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 512

    def __init__(self, handler, host="127.0.0.1"):
        super().__init__((host, 0), handler)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()
