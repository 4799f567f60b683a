// Counterexamples: the sentences, and a drawing with a lane for each instance and one for the database.

const LETTERS = ['', 'A', 'B', 'C'];

function exampleSection(entry) {
  const { strategy, chart } = entry, examples = (chart && chart.examples) || [];
  if (examples.length === 0) {
    const written = strategy.counterexamples || [];
    if (written.length) return el('div', {}, el('h3', {}, 'Counterexamples'), written.map((example) => prose(example, null)));
    return strategy.verdict === 'VIOLATED' ? missing('Counterexamples', 'None was kept for this strategy.') : null;
  }
  return el('div', { class: 'examples' }, el('h3', {}, examples.length > 1 ? 'Counterexamples' : 'Counterexample'),
    firstOfEach(examples).map((i) => exampleFigure(chart, examples[i], i)), furtherExamples(chart, examples));
}

const firstOfEach = (examples) => [...examples.keys()].filter((i) => examples.findIndex((other) => other.anomaly === examples[i].anomaly) === i);

// More counterexamples of an anomaly that is already shown.
function furtherExamples(chart, examples) {
  const shown = firstOfEach(examples), rest = [...examples.keys()].filter((i) => !shown.includes(i));
  if (rest.length === 0) return null;
  return el('details', { class: 'more' }, el('summary', {}, plural(rest.length, 'more counterexample')), rest.map((i) => exampleFigure(chart, examples[i], i)));
}

function prose(example) {
  const lines = example.lines || [];
  return el('div', { class: 'prose' }, el('p', {}, el('span', { class: 'badge fail' }, el('span', { class: 'shape', 'aria-hidden': 'true' }, '✗'), example.anomaly), el('span', { class: 'faint' }, ` ${anomalyText(example.anomaly)}`)),
    lines.map((text) => el('p', {}, marked(text))), eventList(example.events || []));
}

// The events of the operations, from the history.
function eventList(events) {
  if (events.length === 0) return null;
  return el('ul', { class: 'notes events' }, events.map((event) => el('li', {}, marked(eventWords(event)))));
}

// An event of the drawing, or one of summary.json.
function eventWords(event) {
  const [letter, from, , who, text] = Array.isArray(event) ? event : [LETTERS.indexOf(event.order), event.at_ms * 1000, 0, event.who, event.text];
  return `${moment(from, 6)}: ${letter > 0 ? `${LETTERS[letter]} at ` : ''}${who}: ${text}`;
}

// The words A, B and C are letters of the drawing. Ids of one moment begin alike, so only their end is shown.
function marked(text) {
  return text.split(/\b([ABC]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/).map((part, i) => (i % 2 === 0 ? part
    : part.length === 1 ? el('b', { class: `letter letter-${part}` }, part) : el('span', { title: part }, `…${part.slice(-12)}`)));
}

function exampleFigure(chart, example, index) {
  const letters = LETTERS.filter((letter, i) => letter && example.ops.some((op) => op[1] === i));
  if (letters.length === 0) return el('div', { class: 'chart example' }, prose(example)); // only counts, for example a LEAK
  const id = `lanes-${index + 1}`, whole = windowOf(example.ops), near = zoomOf(example, whole), state = { view: near, redraw: null };
  const holder = el('div', { class: 'plot lanes', id });
  const detail = el('p', { class: 'op-detail' }, 'Hover an operation, or focus the drawing and use the arrow keys.',
    example.of > example.ops.length ? ` It shows the ${count(example.ops.length)} operations nearest to the violation, of ${count(example.of)}.` : '');
  const button = (text, view) => el('button', { type: 'button', class: 'small', click: () => { state.view = view(); state.redraw(); } }, text);
  const zoom = (factor) => () => {
    const middle = (state.view[0] + state.view[1]) / 2, half = Math.max(50, (state.view[1] - state.view[0]) / 2 * factor);
    return [Math.max(whole[0], middle - half), Math.min(whole[1], middle + half)];
  };
  const buttons = el('div', { class: 'buttons' }, button('Zoom to the violation', () => near), button('Zoom in', zoom(0.5)), button('Zoom out', zoom(2)),
    button('All', () => whole));
  watchWidth(holder, (width) => {
    state.redraw = () => {
      const drawn = drawLanes(chart, example, state.view, width);
      drawn.plot.root.setAttribute('tabindex', '0');
      drawn.plot.root.setAttribute('role', 'group');
      drawn.plot.root.setAttribute('aria-roledescription', 'timeline');
      drawn.plot.root.setAttribute('aria-label', `${example.anomaly}: ${(example.lines || []).join(' ')} Arrow keys walk through the operations.`);
      drawn.onPoint = (at) => { detail.textContent = drawn.points[at].lines.join(' · '); };
      holder.replaceChildren(drawn.plot.root);
      interact(drawn);
    };
    state.redraw();
  });
  return el('figure', { class: 'chart example' }, prose(example), fold(el('h4', {}, 'The orders over time'), el('ul', { class: 'legend' }, [['sold', 'area', 'request: from sent to answered'],
    ['written', 'diamond', 'written in the ledger']].map(legendItem), el('li', {}, marked(letters.join(' ')), letters.length > 1 ? 'the operations of the proof' : 'the operation of the proof')), buttons, holder, detail,
    dataTable({ title: example.anomaly, table: () => opTable(chart, example) })));
}

function spansOf(op) {
  return [op[3], op[4], op[7]].filter((at) => at >= 0);
}

function windowOf(ops) {
  const all = ops.flatMap(spansOf), from = Math.min(...all), to = Math.max(...all), room = Math.max(200, (to - from) * 0.03);
  return all.length ? [from - room, to + room] : [0, 1000];
}

function zoomOf(example, whole) {
  const named = example.ops.filter((op) => op[1] > 0), all = named.flatMap(spansOf);
  if (all.length === 0) return whole;
  const from = Math.min(...all), to = Math.max(...all), room = Math.max(500, (to - from) * 0.25);
  return [Math.max(whole[0], from - room), Math.min(whole[1], to + room)];
}

const ROWS = 10; // most rows of a lane

// Operations of a lane that overlap get rows of their own: first those in the proof, then others as far as there is room.
function pack(ops, view) {
  const lanes = new Map(), gap = (view[1] - view[0]) * 0.004;
  for (const op of [...ops].sort((a, b) => (b[1] > 0) - (a[1] > 0) || a[3] - b[3])) {
    delete op.row;
    if (op[3] < 0 || (op[1] === 0 && (op[4] < view[0] || op[3] > view[1]))) continue;
    if (!lanes.has(op[2])) lanes.set(op[2], { rows: [], left: 0 });
    const lane = lanes.get(op[2]), row = lane.rows.findIndex((taken) => taken.every(([from, to]) => op[3] > to + gap || op[4] < from - gap));
    if (row < 0 && lane.rows.length >= ROWS) lane.left++;
    else {
      op.row = row < 0 ? lane.rows.push([]) - 1 : row;
      lane.rows[op.row].push([op[3], op[4]]);
    }
  }
  return lanes;
}

function opWords(chart, op) {
  const names = chart.scatter ? chart.scatter.names : [];
  return [`${LETTERS[op[1]] ? `${LETTERS[op[1]]} = ` : ''}order ${op[0]}`,
    op[5] >= 0 ? `${op[2] >= 0 ? chart.instances[op[2]] : 'no instance told'}: ${names[op[5]]}` : 'a ledger row without a request of this run',
    op[6] >= 0 ? `unit ${count(op[6])}` : null,
    op[3] >= 0 ? `sent ${moment(op[3], 6)}, answered ${moment(op[4], 6)} (${ms((op[4] - op[3]) / 1000)})` : null,
    op[7] >= 0 ? `written at ${moment(op[7], 6)}` : 'not in the ledger'].filter(Boolean);
}

function opTable(chart, example) {
  const names = chart.scatter ? chart.scatter.names : [];
  return { head: ['', 'order', 'instance', 'outcome', 'unit', 'sent (s)', 'answered (s)', 'written (s)'],
    rows: example.ops.map((op) => [LETTERS[op[1]], op[0], op[2] >= 0 ? chart.instances[op[2]] : '–', op[5] >= 0 ? names[op[5]] : '–', op[6] >= 0 ? op[6] : '–',
      ...[op[3], op[4], op[7]].map((at) => (at >= 0 ? (at / 1e6).toFixed(6) : '–'))]) };
}

function drawLanes(chart, example, view, width) {
  const inView = example.ops.filter((op) => op[1] > 0 || spansOf(op).some((at) => at >= view[0] && at <= view[1]) || (op[3] >= 0 && op[3] < view[0] && op[4] > view[1]));
  const lanes = pack(inView, view), order = [...lanes.keys()].sort((a, b) => (a < 0 ? 99 : a) - (b < 0 ? 99 : b)), tall = 15;
  let top = 8;
  const places = new Map(order.map((lane) => {
    const place = { top, height: 22 + lanes.get(lane).rows.length * tall };
    top += place.height + 6;
    return [lane, place];
  }));
  const events = (example.events || []).filter(([, from, to]) => from <= view[1] && Math.max(from, to) >= view[0]);
  const happened = { top, height: events.length ? 46 : 0 };
  top += happened.height && happened.height + 6;
  const database = { top, height: 58 }, blank = Object.assign(() => 0, { ticks: () => [], format: String });
  const scale = linear(view[0], view[1], (us, step) => (us / 1e6).toFixed(Math.max(0, 6 - Math.floor(Math.log10(step || 1) + 1e-9))));
  const plot = makePlot({ width, height: top + database.height + 46, x: scale, y: blank, left: 8, xLabel: 'time (s)', right: 8 });
  const band = (place, name, css) => {
    plot.add('rect', { class: `lane ${css}`, x: plot.left, y: place.top, width: plot.right - plot.left, height: place.height });
    plot.add('text', { class: 'lane-label', x: plot.left + 6, y: place.top + 14 }, name);
  };
  for (const lane of order) {
    const { left } = lanes.get(lane), more = left ? ` · ${count(left)} more in the table` : '';
    band(places.get(lane), `${shorten(lane < 0 ? 'no instance told' : chart.instances[lane], width / 8.3 - more.length)}${more}`, '');
  }
  band(database, 'database', 'lane-db');
  if (events.length) band(happened, 'failpoints, locks and servers', '');
  const points = [], clip = (us) => Math.max(plot.left, Math.min(plot.right, plot.px(us)));
  for (const [, from, to, who, text] of events) {
    const place = places.get(chart.instances.indexOf(who)); // the lane of a standstill
    if (place && /^(\S+ )?(pause|kill|restart)\b/.test(text))
      plot.add('rect', { class: 'area-fault', x: clip(from), y: place.top, width: Math.max(2, clip(to) - clip(from)), height: place.height });
  }
  for (const op of [...inView].sort((a, b) => a[1] - b[1])) drawOp(chart, plot, op, places, database, clip, points);
  for (const event of events.filter(([, from]) => from >= view[0])) drawEvent(plot, event, clip(event[1]), happened.top + 30, points);
  points.sort((a, b) => a.at - b.at);
  return { plot, points, nearest: 'xy' };
}

function drawEvent(plot, event, x, y, points) {
  const name = LETTERS[event[0]];
  plot.add('path', { class: `fill-written ${name ? `named-${name}` : ''}`, d: SHAPES.square(4), transform: `translate(${x.toFixed(1)} ${y})` });
  if (name) plot.add('text', { class: `op-label named of-${name}`, x, y: y - 8, 'text-anchor': 'middle' }, name);
  points.push({ at: event[1], x, y, lines: [eventWords(event)] });
}

function drawOp(chart, plot, op, places, database, clip, points) {
  const names = chart.scatter ? chart.scatter.names : [], tone = op[5] >= 0 ? outcomeOf(names[op[5]])[0] : 'none', letter = LETTERS[op[1]];
  const lines = opWords(chart, op), place = places.get(op[2]), y = place && op.row !== undefined ? place.top + 22 + op.row * 15 : 0, has = op[3] >= 0 && place && op.row !== undefined;
  const isSeen = op[7] >= 0 && plot.px(op[7]) >= plot.left - 1 && plot.px(op[7]) <= plot.right + 1, base = database.top + 36;
  if (has && isSeen && letter)
    plot.add('line', { class: `tie letter-line-${letter}`, x1: clip(op[7]), x2: clip(op[7]), y1: y + 11, y2: base });
  if (has) {
    const x = clip(op[3]), end = Math.max(x + 3, clip(op[4]));
    plot.add('rect', { class: `area-${tone} op ${letter ? `named named-${letter}` : ''}`, x, y, width: end - x, height: 11, rx: 2 });
    const label = letter ? `${letter}${op[6] >= 0 ? `  unit ${op[6]}` : ''}` : op[6] >= 0 && end - x > 46 ? `unit ${op[6]}` : '';
    const fits = end - x > label.length * 6.6 + 8;
    if (label && (fits || letter)) {
      const isLeft = !fits && end + label.length * 7 > plot.right;
      plot.add('text', { class: `op-label ${letter ? `named of-${letter}` : ''} ${fits ? 'inside' : ''}`, x: fits ? x + 4 : isLeft ? x - 4 : end + 4, y: y + 9.5,
        'text-anchor': isLeft ? 'end' : 'start' }, label);
    }
    points.push({ at: op[3], x: (x + end) / 2, y: y + 5.5, lines });
  }
  if (isSeen) {
    plot.add('path', { class: `fill-written ${letter ? `named-${letter}` : ''}`, d: SHAPES.diamond(letter ? 5 : 3), transform: `translate(${clip(op[7]).toFixed(1)} ${base})` });
    if (letter) plot.add('text', { class: `op-label named of-${letter}`, x: clip(op[7]), y: base + (op[1] === 2 ? 18 : -9), 'text-anchor': 'middle' }, letter);
    points.push({ at: op[7], x: clip(op[7]), y: base, lines });
  }
}
