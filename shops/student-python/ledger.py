"""Reads a query on standard input, and prints its rows as JSON lines, like `sqlite3 -json`. Usage: python3 ledger.py DATABASE"""

import json
import sqlite3
import sys

db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=30)
db.row_factory = sqlite3.Row
for row in db.execute(sys.stdin.read()):
    print(json.dumps(dict(row)))
