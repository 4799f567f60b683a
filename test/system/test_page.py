"""report.html in a real browser: it draws without errors, loads nothing, and agrees with summary.json."""

import json
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
import unittest
from pathlib import Path

from harness import ROOT, SystemTest

PAGE_BYTES = 2_000_000
PICTURE_BYTES = 200_000
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028<!--"
SHOWN = HOSTILE.replace("\u2028", "???")  # as loadgen reads a summary
INSTANCE = "<img src=x onerror=alert(2)>"


def look(*pages):
    """The findings of a browser on each page (test/node/open_page.js)."""
    done = subprocess.run(["node", "test/node/open_page.js", *map(str, pages)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def milliseconds(text):
    """Milliseconds of "4.13 ms", "850 µs" and "1.27 s"."""
    value, unit = text.split("\n")[0].split()
    return float(value.replace(",", "")) * {"µs": 0.001, "ms": 1, "s": 1000}[unit]


def picture(path):
    """(width, height, the colour of the corner) of a PNG with 8 bits a channel."""
    data = path.read_bytes()
    kind, width, height, bits, colours = struct.unpack(">4sIIBB", data[12:26])
    if data[:8] != b"\x89PNG\r\n\x1a\n" or kind != b"IHDR" or bits != 8 or colours not in (2, 6):
        raise AssertionError(f"{path} is no PNG of a page: {data[:32]}")
    at = data.index(b"IDAT")
    return width, height, tuple(zlib.decompressobj().decompress(data[at + 4:], 64)[1:4])


def number(text):
    return float(text.split("\n")[0].split("/")[0].replace(",", "").strip())


class Page(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = Path(tempfile.mkdtemp(prefix="sale-page-"))
        try:
            cls.run_and_look()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)
        super().tearDownClass()

    @classmethod
    def run_and_look(cls):
        done = cls.stack.loadgen("--strategy", "none,atomic", "--rate", "600", "--requests", "600", "--stock", "150", "--repeat", "2",
                                 "--work", "5ms", "--expect", "none=VIOLATED", "--threshold", "p(99)<9s", "--threshold", "oversell==0", "--results", str(cls.folder), "--no-progress",
                                 env={"LOADGEN_NO_RESULTS": "0"})
        if done.returncode not in (0, 1, 2, 99):
            raise AssertionError(done.stdout + done.stderr)
        cls.run_folder = (cls.folder / "latest").resolve()
        cls.summary = json.loads((cls.run_folder / "summary.json").read_text())
        cls.pages = {"run": cls.run_folder / "report.html", "edge": cls.edge_page(), "many": cls.many_page(),
                     "bare": cls.bare_page(), "shop": cls.shop_page()}
        cls.found = dict(zip(cls.pages, look(*cls.pages.values())))

    @classmethod
    def edge_page(cls):
        """A run with hostile names, interrupted, with strategies that were not judged, not measured and inconclusive."""
        folder = cls.folder / "edge"
        shutil.copytree(cls.run_folder, folder)
        summary = json.loads(json.dumps(cls.summary))
        summary.update(name=HOSTILE, command=f"loadgen --name '{HOSTILE}'", is_interrupted=True, is_left_down=True, exit_code=130)
        judged = summary["strategies"][0]
        summary["settings"].update(target=HOSTILE, arrival=HOSTILE)
        summary["thresholds"] = [{"text": HOSTILE, "strategy": HOSTILE, "measured": None, "holds": False}]
        environment = json.loads((folder / "env.json").read_text())
        environment["machine"]["cpu"] = environment["revision"]["git"] = HOSTILE
        (folder / "env.json").write_text(json.dumps(environment))
        history = (folder / "history.ndjson").read_text().replace('"inventory-1"', json.dumps(INSTANCE))
        # One answer comes 6 s late.
        (folder / "history.ndjson").write_text(re.sub(r'"received":(\d+)', lambda at: f'"received":{int(at[1]) + 6 * 10**9}', history, count=1))
        hostile = dict(judged, strategy=HOSTILE, sentence=f"{HOSTILE}: {HOSTILE}", counterexamples=[{"anomaly": HOSTILE, "lines": [f"A = {HOSTILE}"]}],
                       capacity=dict(judged["capacity"], sentence=HOSTILE), anomalies=[{"name": HOSTILE, "text": HOSTILE, "count": 7, "examples": [HOSTILE]}])
        unjudged = dict(judged, strategy="unjudged", verdict="not judged", as_expected=None, anomalies=[], work=None,
                        capacity=None, counterexamples=[], percentiles={"response_ms": [], "service_ms": []})
        empty = {"count": 0, "min": 0, "mean": 0, "max": 0, "p50": 0, "p90": 0, "p95": 0, "p99": 0, "p99_9": 0}
        unmeasured = dict(unjudged, strategy="unmeasured", offered=0, sold=0, latency_ms=empty, service_ms=empty)
        unmeasured["schedule"] = dict(judged["schedule"], within_10ms_percent=76.5)
        doubted = dict(unjudged, strategy="doubted", verdict="INCONCLUSIVE", inconclusive_because=[HOSTILE],
                       moments_known_to_ms=0.42, unsure_pairs=41)
        summary["strategies"] = [judged, hostile, unjudged, unmeasured, doubted]
        summary["recommendation"] = {"strategy": HOSTILE, "measure": "p99_ms", "round_trips_per_unit": None, "p99_ms": 1,
                                     "sentence": f"cheapest valid: {HOSTILE}, with the lowest p99: 1.0 ms"}
        (folder / "summary.json").write_text(json.dumps(summary))
        return cls.report("edge.html", folder)

    @classmethod
    def many_page(cls):
        return cls.report("many.html", *[cls.run_folder] * 16)

    @classmethod
    def bare_page(cls):
        """The summary of a run that ended before its first round and left no history."""
        folder = cls.folder / "bare"
        folder.mkdir()
        (folder / "summary.json").write_text(json.dumps(dict(cls.summary, strategies=[], thresholds=[], recommendation=None, exit_code=130)))
        return cls.report("bare.html", folder)

    @classmethod
    def shop_page(cls):
        """The first strategy of the run as if it were a shop, whose texts are hostile."""
        folder = cls.folder / "shop"
        shutil.copytree(cls.run_folder, folder)
        summary = json.loads(json.dumps(cls.summary))
        shop = {"name": "Vendure", "version": HOSTILE, "config": f"row locks {HOSTILE}", "file": HOSTILE, "bases": [HOSTILE, "http://127.0.0.1:9702"],
                "processes": 2, "customers": 600}
        steps = [{"name": f"POST /carts/{HOSTILE}", "line": 55, "sent": 1200, "no_reply": 0, "p50_ms": 4.5, "p99_ms": 21, "max_ms": 30},
                 {"name": "POST /pay", "line": 61, "sent": 1190, "no_reply": 1190, "p50_ms": None, "p99_ms": None, "max_ms": None}]
        sold = dict(summary["strategies"][0], strategy="Vendure", expected="VALID", as_expected=False, work=None, capacity=None, steps=steps,
                    sentence=f"Vendure {HOSTILE}, 2 processes: sold more than it had", not_asked={"TWIN": HOSTILE, "STALE": HOSTILE, "DUPLICATE": "it has no key"})
        sold["rounds"] = sold["rounds"][:1]
        summary.update(shop=shop, strategies=[sold], thresholds=[], recommendation=None, name="", command="loadgen --shop vendure.shop",
                       exit_meaning="anomalies were found")
        summary["settings"]["repeat"] = 1
        history = (folder / "history.ndjson").read_text()
        (folder / "history.ndjson").write_text(history.replace('"given":"none"', '"given":"Vendure"', 1))
        (folder / "summary.json").write_text(json.dumps(summary))
        return cls.report("shop.html", folder)

    @classmethod
    def report(cls, name, *folders):
        page = cls.folder / name
        done = cls.stack.loadgen("report", *map(str, folders), "-o", str(page))
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return page

    def test_pages_draw_without_complaints(self):
        for name, found in self.found.items():
            self.assertEqual(found["problems"], [], name)

    def test_pages_load_nothing(self):
        for name, found in self.found.items():
            self.assertEqual(len(found["requests"]), 1, found["requests"])

    def test_pages_are_small(self):
        for name, page in self.pages.items():
            self.assertLess(page.stat().st_size, PAGE_BYTES, name)

    def test_numbers_are_those_of_the_summary(self):
        rows = self.found["run"]["rows"]
        self.assertEqual(self.found["run"]["summaries"], [self.summary])
        self.assertEqual(len(rows), len(self.summary["strategies"]))
        for row, strategy in zip(rows, self.summary["strategies"]):
            self.assertEqual(row["name"], strategy["strategy"])
            self.assertIn(strategy["verdict"], row["verdict"])
            self.assertEqual(number(row["sold"]), strategy["sold"])
            self.assertEqual(number(row["sold"].split("/")[1]), strategy["stock"] * len(strategy["rounds"]))
            for name in ("p50", "p99"):
                self.assertAlmostEqual(milliseconds(row[name]) / strategy["latency_ms"][name], 1, delta=0.006)
            self.assertAlmostEqual(number(row["rate"]) / strategy["achieved_rate"], 1, delta=0.006)

    def test_grid_has_each_anomaly_with_its_count(self):
        for row, strategy in zip(self.found["run"]["grid"], self.summary["strategies"]):
            counts = {found["count"] for found in strategy["anomalies"]}
            shown = {int(cell.split()[-1].replace(",", "")) for cell in row if cell.startswith("✗") and cell.split()[-1][0].isdigit()}
            self.assertEqual(shown, counts)

    def test_outcomes_are_totals_of_each_strategy(self):
        for row, strategy in zip(self.found["run"]["outcomes"], self.summary["strategies"], strict=True):
            self.assertLessEqual({"offered", "sold", "sold_out", "busy"}, row.keys())
            told = {name: n for name, n in strategy["outcomes"].items() if n or name in ("sold", "sold_out", "busy")}
            self.assertEqual({name: number(text) for name, text in row.items()}, dict(told, offered=strategy["offered"]))

    def test_each_anomaly_is_explained_where_it_appears(self):
        source = (ROOT / "judge/anomaly.h").read_text()
        names = re.findall(r'^    X\([A-Z_]+, "([A-Z-]+)"', source, re.M)
        self.assertGreater(len(names), 8)
        self.assertEqual([anomaly["name"] for anomaly in self.found["run"]["anomalies"]], names)
        for anomaly in self.found["run"]["anomalies"]:
            self.assertIn(f"{anomaly['name']}\n{anomaly['text']}", self.found["run"]["meanings"])
        for card, strategy in zip(self.found["run"]["cards"], self.summary["strategies"], strict=True):
            for anomaly in strategy["anomalies"]:
                self.assertIn(anomaly["text"], card)

    def test_each_strategy_says_in_a_sentence_what_it_did(self):
        for card, tab, strategy in zip(self.found["run"]["cards"], self.found["run"]["tabs"], self.summary["strategies"], strict=True):
            name, _, sentence = strategy["sentence"].partition(": ")
            self.assertEqual(name, strategy["strategy"])
            self.assertIn(sentence, card)
            self.assertIn(sentence, tab["text"])

    def test_the_doubt_of_several_clocks_is_told(self):
        told = " ".join(self.found["edge"]["text"].split())
        self.assertIn("moments are known to ±0.42 ms. Pairs of attempts that count as overlapping and may not have: 41.", told)
        self.assertNotIn("moments are known", self.found["run"]["text"])

    def test_a_shop_is_named_and_what_was_not_asked_of_it(self):
        found, subject = self.found["shop"], f"Vendure {SHOWN}, 2 processes"
        card = found["cards"][0]
        self.assertIn(f"{subject}: {SHOWN}, http://127.0.0.1:9702\nSettings of the shop: row locks {SHOWN}", found["text"])
        self.assertTrue(card.startswith(f"{subject}\n"), card)
        self.assertIn("\nsold more than it had\n", card)
        self.assertIn("One round proves that it happens, not how often.", card)
        self.assertIn(f"not asked: TWIN and STALE, because {SHOWN}; DUPLICATE, because it has no key", card)
        cells = dict(zip((anomaly["name"] for anomaly in found["anomalies"]), found["grid"][0][2:]))
        self.assertEqual({name for name, cell in cells.items() if "not asked" in cell} - {"TWIN", "STALE"}, {"DUPLICATE"})
        self.assertEqual(found["images"], 0)

    def test_a_shop_shows_the_times_of_its_steps(self):
        first, second = self.found["shop"]["steps"]
        self.assertEqual(first["name"], f"POST /carts/{SHOWN}\nline 55 of the shop file")
        self.assertEqual([first[key] for key in ("sent", "no reply", "p50", "p99", "longest")], ["1,200", "0", "4.50 ms", "21.0 ms", "30.0 ms"])
        self.assertEqual([second[key] for key in ("no reply", "p50", "p99", "longest")], ["1,190", "–", "–", "–"])
        self.assertLess(first["bars"][0], first["bars"][1])
        self.assertEqual(self.found["run"]["steps"], [])

    def test_a_shop_has_nothing_that_only_own_strategies_have(self):
        text = self.found["shop"]["text"].lower()
        for word in ("strategy", "strategies", "round trips", "cheapest", "expected", "retries"):
            self.assertNotIn(word, text)
        for part in ("tradeoff", "chart-work", "chart-tradeoff", "capacity"):
            self.assertEqual(self.found["shop"]["sections"][part], 0, part)

    def test_the_cheapest_valid_strategy_is_recommended(self):
        made = self.summary["recommendation"]
        self.assertEqual(self.found["run"]["recommendations"], [f"C{made['sentence'][1:]}"] if made else [])
        self.assertRegex(self.found["edge"]["recommendations"][0], r"^Cheapest valid: </script><img .*, with the lowest p99: 1\.0 ms$")
        self.assertEqual(self.found["bare"]["recommendations"], [])

    def test_a_late_answer_makes_no_axis_longer_than_its_data(self):
        for name in ("run", "edge"):
            planned = self.found[name]["planned"]
            self.assertGreater(planned["last"], 0.5)
            self.assertLessEqual(max(planned["ticks"]), planned["last"] + 0.01, name)

    def test_thresholds_are_told_in_their_units(self):
        told = self.found["run"]["thresholds"]
        self.assertEqual(len(told), len(self.summary["thresholds"]))
        for (strategy, text, measured, kept), threshold in zip(told, self.summary["thresholds"]):
            self.assertEqual((strategy, text), (threshold["strategy"], threshold["text"]))
            self.assertIn("kept" if threshold["holds"] else "missed", kept)
            if text == "p(99)<9s":
                self.assertAlmostEqual(milliseconds(measured) / (threshold["measured"] / 1e6), 1, delta=0.006)
            else:
                self.assertEqual(number(measured), threshold["measured"])

    def test_nothing_is_printed_as_an_object(self):
        for name, found in self.found.items():
            for accident in ("[object", "undefined", "NaN", "Infinity"):
                self.assertNotIn(accident, found["text"], name)

    def test_headings_and_tables_are_in_order(self):
        for name, found in self.found.items():
            levels = found["headings"]
            self.assertEqual(levels[0], 1, name)
            for before, after in zip(levels, levels[1:]):
                self.assertLessEqual(after - before, 1, (name, levels))
            self.assertEqual(found["headless"], 0, name)

    def test_text_has_contrast(self):
        """In both colour schemes, also for the marks of charts."""
        for name, found in self.found.items():
            self.assertEqual(found["pale"], {"light": [], "dark": []}, name)

    def test_the_broken_strategy_is_told_on_the_banner(self):
        self.assertIn("VIOLATED", [row["verdict"].split()[-1] for row in self.found["run"]["rows"]])
        self.assertIn(self.summary["command"], self.found["run"]["text"])
        self.assertIn(f"Exit {self.summary['exit_code']}: {self.summary['exit_meaning']}.", self.found["run"]["text"])

    def test_every_part_is_there_and_labelled(self):
        for part, count in self.found["run"]["sections"].items():
            self.assertEqual(count, 1, part)
        self.assertEqual(self.found["run"]["unlabelled"], 0)
        self.assertGreater(self.found["run"]["table"], 0)

    def test_charts_tell_values_to_mouse_and_keyboard(self):
        found = self.found["run"]
        for chart in ("chart-work", "chart-tradeoff", "chart-stock", "chart-outcomes", "chart-latency", "chart-percentiles", "lanes-1"):
            self.assertNotEqual(found["hover"][chart], "", chart)
            first, second, last, closed = found["keys"][chart]
            self.assertNotEqual(first, "", chart)
            self.assertNotEqual(first, last, chart)
            self.assertNotEqual(second, "", chart)
            self.assertEqual(closed, "", chart)

    def test_tabs_are_walked_by_keyboard(self):
        tabs = self.found["run"]["tabs"]
        self.assertEqual([tab["shown"] for tab in tabs], [strategy["strategy"] for strategy in self.summary["strategies"]])
        self.assertEqual({tab["selected"] for tab in tabs}, {"true"})
        self.assertEqual(tabs[1]["hash"], "#s2")
        for tab in tabs:
            self.assertGreaterEqual(tab["charts"], 4)

    def test_colours_follow_the_scheme(self):
        found = self.found["run"]
        self.assertNotEqual(found["light"], found["dark"])
        self.assertLess(self.luminance(found["dark"]["back"]), 0.1)
        self.assertGreater(self.luminance(found["light"]["back"]), 0.8)

    def luminance(self, colour):
        return self.brightness(float(part) for part in colour[colour.index("(") + 1:-1].split(",")[:3])

    @staticmethod
    def brightness(channels):
        red, green, blue = (channel / 255 for channel in channels)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def test_a_phone_shows_the_verdict_and_folds_the_rest(self):
        phone = self.found["run"]["phone"]
        self.assertGreater(phone["closed"], 8)
        self.assertGreater(phone["unfolded"], 3 * phone["folded"])

    def test_nothing_is_wider_than_a_phone(self):
        for name, found in self.found.items():
            self.assertEqual(found["overflow"], {"1280": 0, "390": 0}, name)
            self.assertEqual(found["clipped"], [], name)
            self.assertEqual(found["scrolls"], [], name)

    def test_hostile_names_are_text(self):
        found = self.found["edge"]
        self.assertEqual(found["images"], 0)
        self.assertGreater(found["text"].count("</script><img src=x onerror=alert(1)>"), 10)
        self.assertTrue(any(label.startswith(INSTANCE) for label in found["drawn"]), found["drawn"])
        self.assertIn("nothing measured", found["text"])
        self.assertNotIn("<img", self.pages["edge"].read_text())
        self.assertNotIn("\u2028", self.pages["edge"].read_text())

    def test_a_value_that_was_not_measured_is_marked(self):
        text = self.found["edge"]["text"]
        self.assertIn("The run was interrupted", text)
        self.assertIn("The run ended early", text)
        self.assertIn("not judged", text)
        self.assertIn("INCONCLUSIVE", text)
        self.assertEqual(len(self.found["edge"]["rows"]), 5)
        self.assertIn("No round was finished", self.found["bare"]["text"])
        self.assertIn("The schedule was missed", text)
        self.assertIn("unmeasured (23.5 % of the requests were sent more than 10 ms late)", text)

    def test_the_script_takes_pictures_for_the_readme(self):
        folder = self.folder / "pictures"
        folder.mkdir()
        done = subprocess.run(["scripts/screenshot", str(self.pages["run"]), str(folder)], cwd=ROOT, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_pictures(folder)

    def test_the_pictures_in_the_readme_are_there(self):
        shown = re.findall(r'(?:src|srcset)="(docs/[^"]*)"', (ROOT / "README.md").read_text())
        self.assertEqual(sorted(shown), ["docs/report-dark.png", "docs/report-light.png"])
        self.assert_pictures(ROOT / "docs")

    def assert_pictures(self, folder):
        light, dark = folder / "report-light.png", folder / "report-dark.png"
        self.assertEqual(picture(light)[:2], picture(dark)[:2])
        for path in (light, dark):
            width, height, _ = picture(path)
            self.assertGreater(min(width, height), 600)
            self.assertTrue(20_000 < path.stat().st_size < PICTURE_BYTES, path.stat().st_size)
        self.assertGreater(self.brightness(picture(light)[2]), 0.8)
        self.assertLess(self.brightness(picture(dark)[2]), 0.1)

    def test_many_runs_are_side_by_side(self):
        self.assertEqual(len(self.found["many"]["rows"]), 32)
        for tab in self.found["many"]["tabs"]:
            self.assertGreaterEqual(tab["charts"], 3)


if __name__ == "__main__":
    unittest.main()
