"""A page of charts in one file: a line for each series over a logarithmic axis, and all figures in a table."""

import html
import math
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "loadgen/page"
COLORS = ["--link", "--a", "--b", "--c"]
DASHES = ["", "7 4", "2 4", "10 3 2 3"]
LEFT, TOP, WIDTH, HEIGHT = 70, 14, 620, 230

STYLE = """
main { max-width: 900px; }
svg { width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 12px; }
svg .grid { stroke: var(--rule); }
"""


def short(number):
    """1500 as 1.5 k."""
    for scale, letter in [(1e6, " M"), (1e3, " k")]:
        if number >= scale:
            return f"{number / scale:.3g}{letter}"
    return f"{number:.3g}"


def ticks(most):
    step = 10 ** math.floor(math.log10(most))
    step = next(step * part for part in (0.2, 0.5, 1, 2) if most / (step * part) <= 6)
    return [step * i for i in range(int(most / step) + 2)]


def scales(points, lines):
    """The place of x and y in the picture: x logarithmic, y from 0."""
    low, high = math.log(points[0]), math.log(points[-1])
    top = ticks(max(y for line in lines.values() for y in line if y is not None))[-1]
    return (lambda x: LEFT + WIDTH * (math.log(x) - low) / ((high - low) or 1)), (lambda y: TOP + HEIGHT * (1 - y / top)), top


def curve(index, name, points, line, x_of, y_of):
    color, known = f"var({COLORS[index % 4]})", [(x, y) for x, y in zip(points, line) if y is not None]
    path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in known)
    dots = "".join(f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3.5" fill="{color}"><title>{html.escape(name)}: {short(y)} at {short(x)}'
                   '</title></circle>' for x, y in known)
    label_y = TOP + 16 * index + 4
    return (f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{DASHES[index % 4]}"/>{dots}'
            f'<line x1="{LEFT + WIDTH + 14}" x2="{LEFT + WIDTH + 44}" y1="{label_y}" y2="{label_y}" stroke="{color}" stroke-width="2" '
            f'stroke-dasharray="{DASHES[index % 4]}"/><text x="{LEFT + WIDTH + 50}" y="{label_y + 4}">{html.escape(name)}</text>')


def svg(what, unit, points, lines):
    x_of, y_of, top = scales(points, lines)
    grid = "".join(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y_of(y):.1f}" y2="{y_of(y):.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{y_of(y) + 4:.1f}" text-anchor="end">{short(y)}</text>' for y in ticks(top) if y <= top)
    marks = "".join(f'<text x="{x_of(x):.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{short(x)}</text>' for x in points)
    curves = "".join(curve(i, name, points, line, x_of, y_of) for i, (name, line) in enumerate(lines.items()))
    return (f'<svg viewBox="0 0 {LEFT + WIDTH + 150} {TOP + HEIGHT + 44}" role="img" aria-label="{html.escape(unit)} over {html.escape(what)}; '
            f'the table below has the figures">{grid}{marks}<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">'
            f'{html.escape(what)}</text>{curves}</svg>')


def table(what, rows):
    columns = list(rows[0])[1:]
    head = "".join(f'<th scope="col" class="number">{html.escape(name)}</th>' for name in columns)
    body = "".join(f'<tr><th scope="row">{row[what]:,}</th>' + "".join(
        f'<td class="number">{"-" if row[name] is None else f"{row[name]:,.4g}"}</td>' for name in columns) + "</tr>" for row in rows)
    return (f'<div class="scroll"><table><thead><tr><th scope="col">{html.escape(what)}</th>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def part(chart):
    """One chart: `over` names the column of x, `lines` names the columns to draw, and `rows` has all columns."""
    points = [row[chart["over"]] for row in chart["rows"]]
    lines = {name: [row[name] for row in chart["rows"]] for name in chart["lines"]}
    return (f'<section class="part"><h2>{html.escape(chart["title"])}</h2><p class="describe">{html.escape(chart["unit"])}</p>'
            f'{svg(chart["over"], chart["unit"], points, lines)}{table(chart["over"], chart["rows"])}</section>')


def page(title, lead, charts):
    style = (PAGE / "palette.css").read_text() + (PAGE / "page.css").read_text() + STYLE
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>{html.escape(title)}</title><style>{style}</style></head><body><main><h1>{html.escape(title)}</h1>'
            f'<p class="lead">{html.escape(lead)}</p>{"".join(map(part, charts))}</main></body></html>\n')
