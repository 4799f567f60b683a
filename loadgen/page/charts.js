// The charts: of one strategy over time, and of all strategies side by side.

const seconds = (us) => `${+(us / 1e6).toFixed(3)}`;

// Stands for a chart if the page would be too large, or if the run has no chart.
const noChart = (title) => missing(title, runs.areThinned ? 'Left out to keep this page small. The page of the single run has it.' : 'Not measured: the run has no history.');

function missing(title, why) {
  return el('figure', { class: 'chart' }, el('figcaption', {}, el('h3', {}, title)), el('p', { class: 'missing' }, why));
}

const silent = (chart, instance) => (instance < 0 ? 'all instances' : chart.instances[instance]);

// Injected faults: a line at the begin, and a band for a standstill.
function eventBands(plot, chart, end, isLabelled) {
  (chart.events || []).forEach(([who, from, to, words], i) => {
    if (from >= end || to < 0) return;
    const x = plot.px(Math.max(0, from)), isLeft = x - plot.left > plot.right - x, room = (isLeft ? x - plot.left : plot.right - x) / 7.4 - 1;
    if (to > from) plot.add('rect', { class: 'area-fault', x, y: plot.top, width: plot.px(Math.min(to, end)) - x, height: plot.bottom - plot.top });
    plot.add('line', { class: 'line-fault', x1: x, x2: x, y1: plot.top, y2: plot.bottom });
    if (isLabelled && i < 6 && room > 12)
      plot.add('text', { class: 'fault-label', x: isLeft ? x - 4 : x + 4, y: plot.bottom - 8 - i * 15, 'text-anchor': isLeft ? 'end' : 'start' },
        shorten(words.replace(/, order .*/, ''), room));
  });
}

function faultBands(plot, chart, end, isLabelled) {
  eventBands(plot, chart, end, isLabelled);
  (chart.faults || []).forEach(([instance, from, to], i) => {
    if (from >= end) return;
    const x = plot.px(Math.max(0, from)), width = Math.max(2, plot.px(Math.min(to, end)) - x);
    plot.add('rect', { class: 'area-fault', x, y: plot.top, width, height: plot.bottom - plot.top });
    const text = `${silent(chart, instance)} silent`;
    if (isLabelled && i < 6 && width > text.length * 7)
      plot.add('text', { class: 'fault-label', x: x + 4, y: plot.top + 14 + i * 15 }, text);
  });
}

function faultWords(chart) {
  const words = [];
  if (chart.fail) words.push(`Armed failpoints: ${chart.fail}.`);
  const events = chart.events || [], faults = chart.faults || [];
  if (events.length)
    words.push(`Injected faults: ${events.slice(0, 4).map(([, from, to, what]) => `${what}, ${to > from ? `from ${moment(from, 3)} to ${moment(to, 3)}` : `at ${moment(from, 3)}`}`).join('; ')}` +
      `${chart.event_count > 4 ? `; and ${chart.event_count - 4} more` : ''}.`);
  if (faults.length)
    words.push(`Silent while requests waited: ${faults.slice(0, 4).map(([instance, from, to, waiting]) => `${silent(chart, instance)} from ` +
      `${moment(from, 2)} to ${moment(to, 2)} (${plural(waiting, 'request')})`).join(', ')}${faults.length > 4 ? `, and ${faults.length - 4} more spans` : ''}.`);
  return words.join(' ');
}

// ---- stock

function stockChart({ chart }) {
  const title = 'Stock and confirmed orders over time';
  if (!chart) return noChart(title);
  if (!chart.stock) return missing(title, 'Not measured: the ledger of this round was not read.');
  const { t, stock, orders } = chart.stock, most = Math.max(chart.initial, ...orders, ...stock) * 1.1, isCounted = hasRows(chart);
  return chartFigure({
    id: 'chart-stock', title: isCounted ? title : 'Confirmed orders over time', yLabel: isCounted ? 'units, orders' : 'units ordered', describe: [stockWords(chart), faultWords(chart)].filter(Boolean).join(' '),
    legend: [...(isCounted ? [['stock', 'line', 'units left, by the stock row']] : []), ['orders', 'line', 'orders confirmed'],
      ['limit', 'dash', `${plural(chart.initial, 'unit')} at the start`],
      ...(isNumber(chart.oversold_us) ? [['oversold', 'area', 'sold beyond the stock']] : []),
      ...((chart.events || []).length ? [['fault', 'area', 'injected fault']] : []),
      ...((chart.faults || []).length ? [['fault', 'area', 'an instance was silent']] : [])],
    draw: (width) => drawStock(chart, width, most),
    table: () => (isCounted ? { head: ['time (s)', 'units left', 'orders confirmed', 'ledger sales'], rows: t.map((at, i) => [seconds(at), stock[i], orders[i], chart.stock.sold[i]]) }
      : { head: ['time (s)', 'orders confirmed'], rows: t.map((at, i) => [seconds(at), orders[i]]) }),
  });
}

// A shop of other people does not tell its count after each sale.
const hasRows = (chart) => isNumber(chart.stock.stock[0]);

function orderWords(chart) {
  const { orders } = chart.stock, beyond = orders.at(-1) - chart.initial, when = 'Each order counts from the reply that confirmed it. ';
  if (!isNumber(chart.oversold_us)) return `${when}In the end ${plural(orders.at(-1), 'unit')} of ${count(chart.initial)} ${orders.at(-1) === 1 ? 'was' : 'were'} ordered.`;
  return `${when}The orders cross the dashed line at ${moment(chart.oversold_us)}: there ${plural(chart.initial, 'unit')} were gone. In the end ${count(beyond)} too many were sold, ` +
    `and the shop said that ${count(chart.oversold_left)} ${chart.oversold_left === 1 ? 'was' : 'were'} left.`;
}

// One sentence about the lines.
function stockWords(chart) {
  if (!hasRows(chart)) return orderWords(chart);
  const { stock, orders } = chart.stock, beyond = orders.at(-1) - chart.initial, gap = chart.initial - stock.at(-1) - orders.at(-1);
  const orderLine = isNumber(chart.product) ? `Product ${chart.product + 1} was oversold the most. Its orders` : 'The orders';
  if (isNumber(chart.oversold_us))
    return `${orderLine} cross the dashed line at ${moment(chart.oversold_us)}: order ${count(chart.initial + 1)} was confirmed for ` +
      `${plural(chart.initial, 'unit')}, because the stock row still said ${count(chart.oversold_left)} left. In the end ${count(beyond)} too many were sold.`;
  if (gap < 0)
    return `${plural(orders.at(-1), 'order')} were confirmed, but the stock row fell only by ${count(chart.initial - stock.at(-1))}: sales overwrote each other’s count.`;
  return gap === 0 ? 'Each confirmed order took one unit: the two lines are mirror images.'
    : `The stock row fell by ${count(chart.initial - stock.at(-1))}, and ${plural(orders.at(-1), 'order')} were confirmed.`;
}

function drawStock(chart, width, most) {
  const { t, stock, orders } = chart.stock;
  const plot = makePlot({ width, height: 320, x: linear(0, t.at(-1), seconds), y: linear(0, most), xLabel: 'time (s)',
    left: Math.max(56, 14 + count(most).length * 7) });
  faultBands(plot, chart, t.at(-1), true);
  const at = (values) => t.map((time, i) => [plot.px(time), plot.py(values[i])]);
  if (isNumber(chart.oversold_us)) drawOversold(plot, chart, at(orders));
  plot.add('line', { class: 'line-limit', x1: plot.left, x2: plot.right, y1: plot.py(chart.initial), y2: plot.py(chart.initial) });
  if (hasRows(chart)) plot.add('path', { class: 'line-stock', d: steps(at(stock)) });
  plot.add('path', { class: 'line-orders', d: steps(at(orders)) });
  return { plot, points: t.map((time, i) => ({ x: plot.px(time), y: plot.py(orders[i]),
    lines: [moment(time), ...(hasRows(chart) ? [`${count(stock[i])} units left`] : []), `${count(orders[i])} orders confirmed`,
      ...(orders[i] > chart.initial ? [`${count(orders[i] - chart.initial)} sold beyond the stock`] : [])] })) };
}

function drawOversold(plot, chart, points) {
  const limit = plot.py(chart.initial), x = plot.px(chart.oversold_us);
  const beyond = points.filter(([px, py]) => px >= x && py <= limit);
  if (beyond.length)
    plot.add('path', { class: 'area-oversold', d: `M${x} ${limit}${steps(beyond).replace('M', 'L')}V${limit}z` });
  plot.add('path', { class: 'stroke-failed', d: SHAPES.cross(6), transform: `translate(${x} ${limit})` });
  const left = chart.oversold_left, row = plot.py(left), isLeft = x > 166; // there is room for the words
  const note = (text, y, more) => plot.add('text', { class: 'note tone-fail', x: x + (isLeft ? -10 : 10), y, 'text-anchor': isLeft ? 'end' : 'start', ...more }, text);
  if (!hasRows(chart)) {
    note(`oversold from ${moment(chart.oversold_us, 2)} on`, isLeft ? limit - 9 : limit + 18);
    return;
  }
  plot.add('line', { class: 'line-crossing', x1: x, x2: x, y1: limit, y2: row });
  plot.add('path', { class: 'fill-crossing', d: SHAPES.circle(4), transform: `translate(${x} ${row})` });
  note(`oversold from ${moment(chart.oversold_us, 2)} on`, isLeft ? limit - 9 : limit + 18);
  if (row - limit > 44)
    note(`“${count(left)} left”`, Math.min(plot.bottom - 6, row + 18), x < plot.right - 80 ? { x: x + 10, 'text-anchor': 'start' } : {});
}

// ---- outcomes

function outcomeChart({ chart }) {
  const title = 'Answers over time';
  if (!chart || !chart.outcomes || !chart.outcomes.rows.length) return noChart(title);
  const { names, rows, step_us: step } = chart.outcomes, unit = step >= 1e6 ? (step === 1e6 ? 'second' : `${step / 1e6} s`) : `${step / 1000} ms`;
  return chartFigure({
    id: 'chart-outcomes', title: `Outcomes per ${unit}`, yLabel: `requests per ${unit}`,
    describe: 'The time and the outcome of each request.',
    legend: names.map((name) => [outcomeOf(name)[0], outcomeOf(name)[1], outcomeOf(name)[2]]),
    draw: (width) => drawOutcomes(chart, width),
    table: () => ({ head: ['from (s)', ...names], rows: rows.map((row, i) => [seconds(i * step), ...row]) }),
  });
}

function drawOutcomes(chart, width) {
  const { names, rows, step_us: step } = chart.outcomes, sums = rows.map((row) => row.reduce((a, b) => a + b, 0));
  const plot = makePlot({ width, height: 260, x: linear(0, rows.length * step, seconds), y: linear(0, Math.max(1, ...sums) * 1.05),
    xLabel: 'time (s)' });
  const wide = (plot.right - plot.left) / rows.length, gap = Math.min(2, wide * 0.15);
  faultBands(plot, chart, rows.length * step, false);
  const points = rows.map((row, i) => {
    let below = 0;
    row.forEach((n, o) => {
      if (n === 0) return;
      plot.add('rect', { class: `fill-${outcomeOf(names[o])[0]}`, x: plot.px(i * step) + gap / 2, width: Math.max(0.5, wide - gap),
        y: plot.py(below + n), height: Math.max(0.5, plot.py(below) - plot.py(below + n)) });
      below += n;
    });
    return { x: plot.px((i + 0.5) * step), y: plot.py(below), lines: [`from ${moment(i * step, 1)}`,
      ...row.map((n, o) => (n ? `${count(n)} ${names[o]}` : null)).filter(Boolean)] };
  });
  return { plot, points };
}

// ---- latency

const LINES = [['p50', 0], ['p95', 1], ['p99', 2], ['max', 3]];

function latencyChart({ chart }) {
  const title = 'Response time by planned time';
  if (!chart || !chart.scatter || !chart.scatter.points.length) return noChart(title);
  const { points, names, of } = chart.scatter, rows = chart.latency.rows;
  const seen = names.filter((_, o) => points.some((point) => point[2] === o));
  return chartFigure({
    id: 'chart-latency', title, yLabel: 'response time (log scale)',
    describe: points.length < of ? `${count(points.length)} of ${count(of)} requests, with all of the slowest and of the rare outcomes. ` +
      `The lines are from all sent requests, per ${brief(chart.latency.step_us / 1000)}.` : `Each mark is a request. The lines are per ${brief(chart.latency.step_us / 1000)}.`,
    legend: [...seen.map((name) => [outcomeOf(name)[0], outcomeOf(name)[1], outcomeOf(name)[2]]), ...LINES.map(([name]) => [name, 'line', name])],
    draw: (width) => drawLatency(chart, width),
    table: () => ({ head: ['from (s)', 'requests', 'p50', 'p95', 'p99', 'max'],
      rows: rows.map((row, i) => (row ? [seconds(i * chart.latency.step_us), row[0], ...row.slice(1).map((us) => ms(us / 1000))] : null)).filter(Boolean) }),
  });
}

function drawLatency(chart, width) {
  const { points, names } = chart.scatter, { rows, step_us: step } = chart.latency;
  const all = points.map((point) => point[1] / 1000).filter((value) => value > 0);
  const plot = makePlot({ width, height: 340, x: linear(0, chart.planned_us, seconds), y: logarithmic(Math.min(...all) * 0.8, Math.max(...all) * 1.25),
    xLabel: 'planned time (s)', left: 62 });
  faultBands(plot, chart, chart.planned_us, false);
  for (const [planned, took, outcome] of points)
    plot.root.append(shapeAt(names[outcome], plot.px(planned), plot.py(took / 1000), 2.4, 'dot'));
  for (const [name, place] of LINES) {
    const drawn = rows.map((row, i) => (row ? [plot.px(Math.min(chart.planned_us, (i + 0.5) * step)), plot.py(Math.max(row[place + 1], 1) / 1000)] : null)).filter(Boolean);
    plot.add('path', { class: `line-${name}`, d: line(drawn) });
  }
  return { plot, nearest: 'xy', points: points.map(([planned, took, outcome]) => ({ x: plot.px(planned), y: plot.py(took / 1000),
    lines: [ms(took / 1000), names[outcome], `planned at ${moment(planned)}`] })) };
}

// ---- percentiles

const FEW = [[0.5, 'p50'], [0.9, 'p90'], [0.95, 'p95'], [0.99, 'p99'], [0.999, 'p99_9']];

// [[part, ms]] of a distribution: the ladder if the summary has it, else its few percentiles.
function ladderOf(strategy, which) {
  const ladder = (strategy.percentiles || {})[which] || (strategy.percentiles || {})[`${which}_ms`];
  const short = strategy[which === 'response' ? 'latency_ms' : 'service_ms'];
  if (Array.isArray(ladder) && ladder.length)
    return ladder.map((step) => (Array.isArray(step) ? [step[0] / 100, step[1]] : [step.percentile / 100, isNumber(step.ms) ? step.ms : step.value_ms]));
  if (!short || !short.count) return [];
  const points = [[0, short.min], ...FEW.map(([part, name]) => [part, short[name]])].filter(([, value]) => isNumber(value));
  return [...points, [1, short.max]];
}

function ladderChart({ strategy }) {
  const title = 'Percentiles of response and service time', ladders = [['response', ladderOf(strategy, 'response')], ['service', ladderOf(strategy, 'service')]];
  if (!ladders[0][1].length) return missing(title, 'Not measured: no request was answered.');
  return chartFigure({
    id: 'chart-percentiles', title, yLabel: 'time (log scale)',
    describe: 'All nines have the same width (1/(1−p)). Response time counts from the planned moment, service time from the ' +
      'sending. Where the lines differ, requests waited to be sent.',
    legend: [['response', 'line', 'response time, from planned'], ['service', 'dash', 'service time, from sent']],
    draw: (width) => drawLadders(ladders, strategy, width),
    table: () => ({ head: ['percentile', 'response', 'service'], rows: ladders[0][1].map(([part, value]) =>
      [`${+(part * 100).toFixed(5)} %`, ms(value), ms(serviceAt(ladders, part))]) }),
  });
}

function drawLadders(ladders, strategy, width) {
  const total = (strategy.latency_ms || {}).count || strategy.offered || 1000;
  const most = Math.max(0.99, Math.min(0.99999, 1 - 1 / Math.max(total, 2)));
  const values = ladders.flatMap(([, steps]) => steps.map(([, value]) => value)).filter((value) => value > 0);
  const plot = makePlot({ width, height: 300, x: nines(most), y: logarithmic(Math.min(...values) * 0.8, Math.max(...values) * 1.25), left: 62,
    xLabel: 'percentile (%)', right: 18 });
  for (const [name, steps] of ladders)
    plot.add('path', { class: `line-${name}`, d: line(steps.map(([part, value]) => [plot.px(part), plot.py(value)])) });
  return { plot, points: ladders[0][1].map(([part, value]) => ({ x: plot.px(part), y: plot.py(value),
    lines: [part >= 1 ? 'maximum' : `p${+(part * 100).toFixed(4)}`, `response ${ms(value)}`, `service ${ms(serviceAt(ladders, part))}`] })) };
}

const serviceAt = (ladders, part) => (ladders[1][1].find(([other]) => Math.abs(other - part) < 1e-9) || [])[1];

// ---- all strategies

// The longest turn of an order that keeps up with the offered rate.
function turnMs(entry) {
  const settings = entry.run.summary.settings || {}, offered = ((entry.strategy.capacity || {}).lock || {}).offered_rate || settings.rate;
  return isNumber(offered) && offered > 0 ? 1000 / offered : NaN;
}

function workChart() {
  const title = 'Where an order spends its time', told = entries.map((entry) => [entry, workOf(entry.strategy)]).filter(([, work]) => work);
  if (told.length === 0) return missing(title, 'Not measured: the replies did not report their cost (Server-Timing).');
  const turns = new Set(told.map(([entry]) => turnMs(entry))), turn = turns.size === 1 ? [...turns][0] : NaN;
  const words = isNumber(turn) ? `A lock that is held longer than ${brief(turn)} (the dashed line) cannot keep up with ${rate(1000 / turn)}.` : '';
  return chartFigure({
    id: 'chart-work', title, describe: `Medians, from the replies. ${words}`,
    legend: [...(told.some(([, work]) => work.hold) ? [['wait', 'diamond', 'wait for the lock'], ['hold', 'square', 'hold the lock']] : []), ['commit', 'circle', 'commit the sale'],
      ...(isNumber(turn) ? [['limit', 'dash', `1/rate = ${brief(turn)}: the longest hold that keeps up`]] : [])],
    draw: (width) => drawWork(told, turn, width),
    table: () => ({ head: ['strategy', 'wait', 'hold', 'commit'], rows: told.map(([entry, work]) =>
      [entry.name, ...['wait', 'hold', 'commit'].map((part) => (work[part] ? ms(work[part].p50) : '–'))]) }),
  });
}

// Marks instead of bars: a log scale has no zero where a bar could start.
const WORK_SHAPES = { wait: 'diamond', hold: 'square', commit: 'circle' };

function drawWork(told, turn, width) {
  const values = told.flatMap(([, work]) => ['wait', 'hold', 'commit'].map((part) => (work[part] ? work[part].p50 : 0))).filter((v) => v > 0);
  const low = Math.min(0.1, ...values, turn || 1) * 0.7, high = Math.max(...values, turn || 0, 1) * 1.5, tall = 58;
  const blank = Object.assign(() => 0, { ticks: () => [], format: String });
  const plot = makePlot({ width, height: told.length * tall + 56, x: logarithmic(low, high), y: blank, left: 14, xLabel: 'median time (log scale)' });
  const points = [];
  told.forEach(([entry, work], row) => {
    const top = plot.top + row * tall;
    plot.add('text', { class: 'row-label', x: plot.left, y: top + 11 }, shorten(entry.name, width / 9));
    if (!work.wait && !work.hold) plot.add('text', { class: 'tick', x: plot.left, y: top + 33 }, 'no lock');
    ['wait', 'hold', 'commit'].forEach((part, i) => {
      if (!work[part]) return;
      const y = top + 17 + i * 12, end = plot.px(Math.max(work[part].p50, low));
      plot.add('line', { class: 'stem', x1: plot.left, x2: end, y1: y + 5, y2: y + 5 });
      plot.add('path', { class: `fill-${part}`, d: SHAPES[WORK_SHAPES[part]](4.5), transform: `translate(${end} ${y + 5})` });
      points.push({ x: end, y: y + 5, lines: [`${part} ${ms(work[part].p50)}`, entry.name, isNumber(work[part].p99) ? `p99 ${ms(work[part].p99)}` : ''].filter(Boolean) });
    });
  });
  if (isNumber(turn)) plot.add('line', { class: 'line-limit', x1: plot.px(turn), x2: plot.px(turn), y1: plot.top, y2: plot.bottom });
  return { plot, points, nearest: 'y' };
}

const shorten = (text, most) => (text.length > most ? `${text.slice(0, Math.max(4, most - 1))}…` : text);

function tradeoffChart() {
  const shown = entries.filter(({ strategy }) => isNumber(latency(strategy, 'p99')) && latency(strategy, 'p99') > 0 && (isJudged(strategy) || (strategy.anomalies || []).length));
  if (shown.length < 2) return null;
  return chartFigure({
    id: 'chart-tradeoff', title: 'Safety against latency', yLabel: 'the most frequent anomaly, per order sold (log scale; zero has its own band)',
    describe: 'Down and to the left is better: no anomaly found, and a short p99.',
    legend: [['ok', 'circle', 'VALID'], ['unknown', 'up', 'INCONCLUSIVE'], ['fail', 'cross', 'VIOLATED']],
    draw: (width) => drawTradeoff(shown, width),
    table: () => ({ head: ['strategy', 'verdict', 'p99', 'most frequent anomaly per order'], rows: shown.map(({ name, strategy }) =>
      [name, strategy.verdict, ms(latency(strategy, 'p99')), anomaliesPerOrder(strategy) ? significant(anomaliesPerOrder(strategy), 2) : '0']) }),
  });
}

// The largest, not the sum: one sale may count as an OVERSELL and as a TWIN.
const anomaliesPerOrder = (strategy) => Math.max(0, ...(strategy.anomalies || []).map((anomaly) => anomaly.count)) / Math.max(1, strategy.sold || strategy.offered || 1);
const isJudged = (strategy) => strategy.verdict === 'VALID' || strategy.verdict === 'VIOLATED';

function drawTradeoff(shown, width) {
  const p99s = shown.map(({ strategy }) => latency(strategy, 'p99')), parts = shown.map(({ strategy }) => anomaliesPerOrder(strategy));
  const some = parts.filter((part) => part > 0), low = Math.min(1e-3, ...some) / 2, high = Math.max(1, ...some) * 1.5;
  const above = logarithmic(low, high, (value) => `${+value.toPrecision(1)}`);
  const y = Object.assign((part) => (part > 0 ? 0.2 + 0.8 * above(part) : 0.08), { ticks: (n) => [0, ...above.ticks(n)], format: (part) => (part ? above.format(part) : 'zero') });
  const plot = makePlot({ width, height: 320, x: logarithmic(Math.min(...p99s) * 0.6, Math.max(...p99s) * 1.8), y, xLabel: 'p99 response time (log scale)', left: 62 });
  plot.root.insertBefore(svg('rect', { class: 'area-zero', x: plot.left, y: plot.bottom - 0.16 * (plot.bottom - plot.top), width: plot.right - plot.left,
    height: 0.16 * (plot.bottom - plot.top) }), plot.root.firstChild);
  const taken = p99s.map((p99, i) => [plot.px(p99) - 7, plot.py(parts[i]) + 4, 14]);
  const points = shown.map(({ name, strategy }, i) => {
    const x = plot.px(p99s[i]), py = plot.py(parts[i]), tone = kindOf(strategy).tone;
    const shape = { ok: 'circle', fail: 'cross', unknown: 'up', none: 'square' }[tone];
    plot.add('path', { d: SHAPES[shape](6), transform: `translate(${x} ${py})`, class: shape === 'cross' ? `stroke-${tone}` : `fill-${tone}` });
    placeLabel(plot, taken, shorten(strategy.strategy.split(',')[0], 18), x, py);
    return { x, y: py, lines: [name, strategy.verdict, `p99 ${ms(p99s[i])}`, parts[i] ? `${significant(parts[i], 2)} of the most frequent anomaly per order` : 'no anomaly found'] };
  });
  return { plot, points, nearest: 'xy' };
}

// Beside the mark if there is room; else only the tip and the table have the name.
function placeLabel(plot, taken, text, x, y) {
  const wide = text.length * 7;
  const places = [[x + 10, y + 4], [x - 10 - wide, y + 4], [x - wide / 2, y - 11], [x - wide / 2, y + 20], [x + 8, y - 10], [x + 8, y + 18]];
  const fits = places.find(([left, base]) => left > plot.left && left + wide < plot.width && base > 10 && base < plot.bottom &&
    !taken.some((box) => left < box[0] + box[2] && left + wide > box[0] && Math.abs(base - box[1]) < 13));
  if (!fits) return;
  taken.push([fits[0], fits[1], wide]);
  plot.add('text', { class: 'note', x: fits[0], y: fits[1] }, text);
}

function capacitySection() {
  const told = entries.map((entry) => [entry, (entry.strategy.capacity || {}).sentence || (typeof entry.strategy.capacity === 'string' ? entry.strategy.capacity : '')])
    .filter(([, sentence]) => sentence);
  return told.length ? el('div', { id: 'capacity' }, el('h3', {}, 'Capacity'),
    el('ul', { class: 'notes' }, told.map(([entry, sentence]) => el('li', {}, nameFirst(entry, sentence.replace(/->/g, '→')))))) : null;
}

// The sentence usually begins with the name of the strategy.
function nameFirst({ name, strategy }, sentence) {
  const first = strategy.strategy.split(',')[0];
  return runs.length === 1 && sentence.startsWith(`${first} `) ? [el('strong', {}, first), sentence.slice(first.length)] : [el('strong', {}, name), ': ', sentence];
}
