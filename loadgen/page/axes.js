// Scales, axes, and the frame of every chart: title, legend, drawing, keyboard, table.

// ---- scales: a function from value to 0..1, with ticks

function niceStep(span, wanted) {
  const rough = span / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough * 0.8) || power;
}

function linear(from, to, format = count) {
  const high = to > from ? to : from + 1;
  const scale = (value) => (value - from) / (high - from);
  scale.ticks = (wanted) => {
    const step = niceStep(high - from, wanted), ticks = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= high + step * 1e-6; i++) ticks.push(i * step || 0);
    scale.format = (value) => format(value, step);
    return ticks;
  };
  scale.format = format;
  return scale;
}

function logarithmic(from, to, format = brief) {
  const low = Math.log10(Math.max(from, 1e-6)), high = Math.max(Math.log10(Math.max(to, 1e-6)), low + 0.3);
  const scale = (value) => (Math.log10(Math.max(value, 1e-6)) - low) / (high - low);
  scale.ticks = (wanted) => {
    const within = (digits) => {
      const all = [];
      for (let power = Math.floor(low); power <= high; power++)
        for (const digit of digits)
          if (Math.log10(digit) + power >= low - 1e-9 && Math.log10(digit) + power <= high + 1e-9) all.push(digit * 10 ** power);
      return all;
    };
    const all = [[1, 2, 5], [1, 3], [1]].map(within).find((ticks) => ticks.length <= wanted + 1) || within([1]);
    const every = Math.ceil(all.length / (Math.max(2, wanted) + 1));
    return all.filter((_, i) => i % every === 0);
  };
  scale.format = format;
  return scale;
}

// 1 / (1 - p): all nines have the same width.
function nines(most) {
  const high = Math.log10(1 / (1 - most));
  const scale = (part) => Math.min(1, Math.log10(1 / Math.max(1 - part, 1 - most)) / high);
  scale.ticks = () => [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].filter((part) => part <= most + 1e-12);
  scale.format = (part) => `${+(part * 100).toFixed(4)}`;
  return scale;
}

// ---- a plot

// `spec`: {width, height, x, y, xLabel, yLabel, left}; px() and py() give the place of a value.
function makePlot(spec) {
  const { width, height, x, y } = spec, left = spec.left || 56, right = spec.right || 14, top = spec.top || 12, bottom = 40;
  const plot = { left, top, right: width - right, bottom: height - bottom, width, height, spec };
  plot.px = (value) => left + x(value) * (plot.right - left);
  plot.py = (value) => plot.bottom - y(value) * (plot.bottom - top);
  plot.root = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, class: 'plot-svg' });
  plot.add = (tag, attributes, ...children) => {
    const node = svg(tag, attributes, ...children);
    plot.root.append(node);
    return node;
  };
  drawAxes(plot);
  return plot;
}

function drawAxes(plot) {
  const { spec, left, right, top, bottom } = plot;
  for (const tick of spec.y.ticks(Math.max(2, (bottom - top) / 48))) {
    const at = plot.py(tick);
    plot.add('line', { class: 'gridline', x1: left, x2: right, y1: at, y2: at });
    plot.add('text', { class: 'tick', x: left - 7, y: at + 4, 'text-anchor': 'end' }, spec.y.format(tick));
  }
  let free = -Infinity;
  for (const tick of spec.x.ticks(Math.max(2, (right - left) / 84))) {
    const at = plot.px(tick), text = spec.x.format(tick), half = text.length * 3.6;
    plot.add('line', { class: 'tickmark', x1: at, x2: at, y1: bottom, y2: bottom + 5 });
    if (at - half < free) continue;
    const middle = Math.max(half + 2, Math.min(plot.width - half - 2, at));
    plot.add('text', { class: 'tick', x: middle, y: bottom + 18, 'text-anchor': 'middle' }, text);
    free = middle + half + 6;
  }
  plot.add('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom });
  if (spec.xLabel)
    plot.add('text', { class: 'axis-label', x: right, y: plot.height - 5, 'text-anchor': 'end' }, spec.xLabel);
}

const line = (points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
const steps = (points) => points.map(([x, y], i) =>
  (i ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`)).join('');

// ---- shapes: an outcome has a colour and a shape

const SHAPES = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`,
  up: (r) => `M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}z`,
  down: (r) => `M0 ${1.2 * r}L${1.2 * r} ${-r}H${-1.2 * r}z`,
  cross: (r) => `M${-r} ${-r}L${r} ${r}M${r} ${-r}L${-r} ${r}`,
  plus: (r) => `M0 ${-1.3 * r}V${1.3 * r}M${-1.3 * r} 0H${1.3 * r}`,
  bar: (r) => `M${-r} 0H${r}`,
};

const OUTCOMES = {
  sold: ['sold', 'circle', 'sold: told “yours”'],
  sold_out: ['sold-out', 'square', 'sold out'],
  busy: ['busy', 'diamond', 'busy: nothing was sold'],
  unknown: ['unknown', 'up', 'unknown: no reply, or no yes and no no in it'],
  refused: ['refused', 'plus', 'refused: a bad request'],
  failed: ['failed', 'cross', 'failed: an error of the server'],
  unreached: ['unreached', 'down', 'unreached: no connection'],
  unsent: ['unsent', 'bar', 'unsent: out of connections'],
};
const outcomeOf = (name) => OUTCOMES[name] || ['none', 'circle', name || 'no request'];

function shapeAt(name, x, y, r, extra = '') {
  const [tone, shape] = outcomeOf(name);
  const isLine = shape === 'cross' || shape === 'plus' || shape === 'bar';
  return svg('path', { d: SHAPES[shape](r), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
    class: `${isLine ? 'stroke' : 'fill'}-${tone} ${extra}` });
}

// ---- the frame

function legendItem([tone, kind, text]) {
  const icon = svg('svg', { width: 16, height: 12, viewBox: '-8 -6 16 12', 'aria-hidden': 'true' });
  if (kind === 'line' || kind === 'dash')
    icon.append(svg('path', { d: 'M-8 0H8', class: `line-${tone}`, 'stroke-dasharray': kind === 'dash' ? '4 3' : null }));
  else if (kind === 'area') icon.append(svg('rect', { x: -7, y: -5, width: 14, height: 10, class: `area-${tone}` }));
  else icon.append(svg('path', { d: SHAPES[kind](4), class: `${['cross', 'plus', 'bar'].includes(kind) ? 'stroke' : 'fill'}-${tone}` }));
  return el('li', {}, icon, text);
}

// `spec`: {id, title, describe, yLabel, legend, height, draw(width) -> {plot, points, nearest}, table() -> {head, rows}}.
// Points are {x, y, lines}; the arrow keys walk through them.
function chartFigure(spec) {
  const holder = el('div', { class: 'plot', id: spec.id });
  const figure = el('figure', { class: 'chart' }, fold(el('h3', {}, spec.title),
    spec.describe ? el('p', { class: 'describe' }, spec.describe) : null,
    spec.legend ? el('ul', { class: 'legend' }, spec.legend.map(legendItem)) : null,
    spec.yLabel ? el('div', { class: 'y-label' }, spec.yLabel) : null, holder, spec.table ? dataTable(spec) : null));
  watchWidth(holder, (width) => {
    const drawn = spec.draw(width);
    drawn.plot.root.setAttribute('tabindex', '0');
    drawn.plot.root.setAttribute('role', 'group');
    drawn.plot.root.setAttribute('aria-roledescription', 'chart');
    drawn.plot.root.setAttribute('aria-label', `${spec.title}. ${spec.aria || spec.describe || ''} Arrow keys walk through the values.`);
    holder.replaceChildren(drawn.plot.root);
    if (drawn.points) interact(drawn);
  });
  return figure;
}

function watchWidth(holder, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width > 0 && width !== drawn) {
      drawn = width;
      draw(width);
    }
  }).observe(holder);
}

// The same values as text. The table is made when it is opened.
function dataTable(spec) {
  const details = el('details', { class: 'data' }, el('summary', {}, 'Values as a table'));
  details.addEventListener('toggle', () => {
    if (!details.open || details.querySelector('table')) return;
    const { head, rows } = spec.table();
    details.append(scrollable(`${spec.title}: values`, el('table', {},
      el('thead', {}, el('tr', {}, head.map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, row.map((value) => el('td', { class: 'number' }, String(value)))))))));
  });
  return details;
}

function nearestPoint(points, x, y, mode) {
  let best = -1, least = Infinity;
  points.forEach((point, i) => {
    const distance = mode === 'x' ? Math.abs(point.x - x) : mode === 'y' ? Math.abs(point.y - y) : Math.hypot(point.x - x, point.y - y);
    if (distance < least) [best, least] = [i, distance];
  });
  return mode !== 'xy' || least < 30 ? best : -1;
}

function interact({ plot, points, nearest = 'x', onPoint }) {
  const { root } = plot, cursor = svg('g', { class: 'cursor' });
  let at = -1;
  root.append(cursor);
  const show = (index) => {
    at = index;
    cursor.replaceChildren();
    if (at < 0) return hideTip();
    const point = points[at], box = root.getBoundingClientRect();
    if (nearest === 'x') cursor.append(svg('line', { x1: point.x, x2: point.x, y1: plot.top, y2: plot.bottom }));
    cursor.append(svg('circle', { cx: point.x, cy: point.y, r: 7 }));
    showTip(point.lines, box.left + point.x, box.top + point.y);
    if (onPoint) onPoint(at);
    return undefined;
  };
  root.addEventListener('pointermove', (event) => {
    const box = root.getBoundingClientRect();
    show(nearestPoint(points, event.clientX - box.left, event.clientY - box.top, nearest));
  });
  root.addEventListener('pointerleave', () => show(-1));
  root.addEventListener('focus', () => { if (at < 0 && points.length && root.matches(':focus-visible')) show(0); });
  root.addEventListener('blur', () => show(-1));
  root.addEventListener('keydown', (event) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10,
      Home: 0, End: points.length - 1, Escape: -1 }[event.key];
    if (next === undefined || points.length === 0) return;
    event.preventDefault();
    show(event.key === 'Escape' ? -1 : Math.max(0, Math.min(points.length - 1, next)));
  });
}
