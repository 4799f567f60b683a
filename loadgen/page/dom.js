// Elements, number formats, and the tip over a chart.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

// el('p', {class: 'x'}, 'text', child): text is set as text, so a name is never markup.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A part with its heading. On a phone it starts folded, because the page would be twenty screens long. Print shows all of it.
function fold(heading, ...children) {
  return el('details', { class: 'fold', open: !matchMedia('(max-width: 600px)').matches }, el('summary', {}, heading), children);
}
window.addEventListener('beforeprint', () => document.querySelectorAll('details.fold').forEach((part) => { part.open = true; }));

// ---- numbers

const isNumber = (value) => typeof value === 'number' && isFinite(value);
const count = (value) => (isNumber(value) ? (Math.round(value) || 0).toLocaleString('en-US', { maximumFractionDigits: 0 }) : '–');

function significant(value, digits) {
  const decimals = value === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)) + 1e-9));
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: Math.min(decimals, 6) });
}

// A duration given in milliseconds: "850 µs", "4.13 ms", "212 ms", "1.27 s".
function ms(value) {
  if (!isNumber(value)) return '–';
  if (value === 0) return '0 ms';
  const [scaled, unit] = Math.abs(value) < 0.9995 ? [value * 1000, 'µs'] : Math.abs(value) < 999.5 ? [value, 'ms'] : [value / 1000, 's'];
  return `${Math.abs(scaled) < 99.95 ? scaled.toPrecision(3) : count(scaled)} ${unit}`;
}
// The same without zeros at the end, for axes and sentences.
const brief = (value) => ms(value).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');

function rate(value) {
  return isNumber(value) ? `${value < 100 ? significant(value, 3) : count(value)}/s` : '–';
}

const percent = (part) => `${significant(part * 100, 3)} %`;
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || `${one}s`}`;
// A moment on the round's clock, given in microseconds.
const moment = (us, digits = 3) => `${(us / 1e6).toFixed(digits)} s`;

// ---- the data

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const runs = [];
function loadRuns() {
  const charts = read('charts'), environments = read('environments');
  runs.areThinned = charts.length === 0;
  read('summaries').forEach((summary, i) => runs.push({ summary, charts: charts[i] || [], environment: environments[i] || {} }));
}

// Every strategy of every run, for tabs, tables and overviews.
const entries = [];
function loadEntries() {
  runs.forEach((run, r) => (run.summary.strategies || []).forEach((strategy, s) => {
    const name = runs.length > 1 ? `${strategy.strategy} · ${runName(run, r)}` : strategy.strategy;
    entries.push({ run, strategy, chart: run.charts[s] || null, name, id: `s${entries.length + 1}` });
  }));
}

// The name of the run, with a number if another run of the page has the same name or it has none.
function runName({ summary }, index) {
  const isOwn = summary.name && runs.filter((other) => other.summary.name === summary.name).length === 1;
  return isOwn ? summary.name : `${summary.name || 'run'} ${index + 1}`;
}

// ---- the tip

const tip = { box: null };
function showTip(lines, x, y) {
  tip.box = tip.box || document.getElementById('tip');
  tip.box.replaceChildren(...lines.map((line, i) => el(i ? 'div' : 'strong', {}, line)));
  tip.box.hidden = false;
  const width = tip.box.offsetWidth, height = tip.box.offsetHeight, view = document.documentElement.clientWidth;
  const left = x + 14 + width > view - 8 ? Math.max(8, x - width - 14) : x + 14;
  const top = y - height - 12 < 8 ? y + 16 : y - height - 12;
  tip.box.style.transform = `translate(${left}px, ${top}px)`;
}
function hideTip() {
  if (tip.box) tip.box.hidden = true;
}
