// The grid of anomalies and the table of measurements.

// {name, text} of all known anomalies, and of others that a run of another version found.
function anomalyList() {
  const known = new Map(read('anomaly-list').map((anomaly) => [anomaly.name, anomaly]));
  for (const { strategy } of entries)
    for (const anomaly of strategy.anomalies || [])
      if (!known.has(anomaly.name)) known.set(anomaly.name, anomaly);
  return [...known.values()];
}
const anomalyText = (name) => (anomalyList().find((anomaly) => anomaly.name === name) || {}).text || '';

const KINDS = {
  VALID: { mark: '✓', tone: 'ok' },
  VIOLATED: { mark: '✗', tone: 'fail' },
  INCONCLUSIVE: { mark: '?', tone: 'unknown' },
  'not judged': { mark: '–', tone: 'none' },
};
const kindOf = (strategy) => KINDS[strategy.verdict] || KINDS['not judged'];

function verdictBadge(strategy) {
  const kind = kindOf(strategy);
  return el('span', { class: `badge ${kind.tone}` }, el('span', { class: 'shape', 'aria-hidden': 'true' }, kind.mark),
    strategy.verdict);
}

function expectedWords(strategy) {
  const wanted = (strategy.expected || 'VALID').split('+').join(' + ');
  if (strategy.verdict === 'not judged') return ['none', '–'];
  if (strategy.as_expected === true) return ['ok', wanted === 'VALID' ? 'as expected' : `as expected: ${wanted}`];
  return strategy.as_expected === false ? ['fail', `expected ${wanted}`] : ['unknown', `open: expected ${wanted}`];
}

function foundIn(strategy) {
  const found = new Map();
  for (const anomaly of strategy.anomalies || []) found.set(anomaly.name, anomaly);
  return found;
}

// VALID excludes every anomaly in the observed round; INCONCLUSIVE excludes none.
function anomalyCell(strategy, name) {
  const found = foundIn(strategy).get(name);
  if (found)
    return el('td', { class: 'cell fail', title: (found.examples || []).join('\n') },
      el('span', { 'aria-hidden': 'true' }, '✗ '), el('span', { class: 'sr' }, 'found '), count(found.count));
  if (notAsked(strategy)[name] !== undefined)
    return el('td', { class: 'cell none', title: notAsked(strategy)[name] }, el('span', { 'aria-hidden': 'true' }, '○'), el('span', { class: 'sr' }, 'not asked'));
  if (strategy.verdict === 'VALID' || strategy.verdict === 'VIOLATED')
    return el('td', { class: 'cell ok' }, el('span', { 'aria-hidden': 'true' }, '✓'), el('span', { class: 'sr' }, 'none found'));
  return el('td', { class: 'cell none' }, el('span', { 'aria-hidden': 'true' }, '–'), el('span', { class: 'sr' }, 'not judged'));
}

function anomalyGrid() {
  const columns = anomalyList(), isTold = entries.some(isExpectationTold);
  const head = el('tr', {}, el('th', { scope: 'col' }, rowWord()), el('th', { scope: 'col' }, 'verdict'),
    columns.map(({ name }) => el('th', { scope: 'col', class: 'turned' }, el('span', {}, name))),
    isTold ? el('th', { scope: 'col' }, 'expected') : null);
  const rows = entries.map((entry) => {
    const [tone, words] = expectedWords(entry.strategy);
    return el('tr', { 'data-entry': entry.id }, el('th', { scope: 'row' }, strategyLink(entry)),
      el('td', {}, verdictBadge(entry.strategy)), columns.map(({ name }) => anomalyCell(entry.strategy, name)),
      isTold ? el('td', { class: `tone-${tone}` }, words) : null);
  });
  return [stacking(`Anomalies found, by ${rowWord()}`, el('table', { class: 'grid', id: 'grid' }, el('thead', {}, head), el('tbody', {}, rows))),
    meanings(columns)];
}

function meanings(anomalies) {
  const isFound = (name) => entries.some(({ strategy }) => foundIn(strategy).has(name));
  return el('dl', { id: 'meanings', class: 'meanings' }, anomalies.map(({ name, text }) =>
    el('div', {}, el('dt', { class: isFound(name) ? 'tone-fail' : null }, name), el('dd', {}, text || 'of another version of loadgen'))));
}

// "sold 800 of 500 units, ...": the sentence without its subject.
function saidOf(entry) {
  const { sentence, strategy } = entry.strategy, subject = shopOf(entry) ? shopSubject(shopOf(entry)) : strategy;
  if (!sentence) return null;
  return el('p', { class: 'said' }, sentence.startsWith(`${subject}: `) ? sentence.slice(subject.length + 2) : sentence);
}

// The anomalies of a strategy in words.
function foundList(strategy) {
  const found = strategy.anomalies || [];
  return found.length ? el('ul', { class: 'found' }, found.map((anomaly) =>
    el('li', {}, el('strong', { class: 'tone-fail' }, `${anomaly.name} ${count(anomaly.count)}`), ` ${anomaly.text || anomalyText(anomaly.name)}`))) : null;
}

function strategyLink(entry) {
  const shop = shopOf(entry), [name, ...options] = shop ? [`${shop.name}${versionOf(shop)}`] : entry.strategy.strategy.split(',');
  const run = runs.length > 1 ? entry.name.slice(entry.strategy.strategy.length + 3) : '';
  return el('a', { href: `#${entry.id}` }, name, options.length ? el('span', { class: 'faint' }, `,${options.join(',')}`) : null,
    run ? el('span', { class: 'run' }, run) : null);
}

// A wide table scrolls inside the page, by keyboard, too, and has a hint about it.
function scrollable(label, table) {
  const region = el('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, table);
  const hint = el('p', { class: 'scroll-hint', hidden: true }, 'Wider than the screen: scroll it sideways →');
  new ResizeObserver(() => { hint.hidden = region.scrollWidth <= region.clientWidth + 1; }).observe(region);
  return el('div', {}, hint, region);
}

// On a phone each row is a block, and each cell shows its column name (page.css).
function stacking(label, table) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.name = names[i]; });
  table.classList.add('stack');
  return scrollable(label, table);
}

// ---- how the requests ended

const ALWAYS = ['sold', 'sold_out', 'busy'];

function outcomeTotals() {
  const total = (strategy, name) => (strategy.outcomes || {})[name] || 0;
  const names = Object.keys(OUTCOMES).filter((name) => ALWAYS.includes(name) || entries.some(({ strategy }) => total(strategy, name)));
  const head = el('tr', {}, el('th', { scope: 'col' }, rowWord()), el('th', { scope: 'col', class: 'number' }, areShops() ? 'customers' : 'requests'),
    names.map((name) => el('th', { scope: 'col', class: 'number' }, name.replace('_', ' '))));
  const cell = (key, value) => el('td', { class: `number ${value ? '' : 'faint'}`, 'data-key': key }, count(value));
  const rows = entries.map((entry) => el('tr', { 'data-entry': entry.id }, el('th', { scope: 'row' }, strategyLink(entry)),
    cell('offered', entry.strategy.offered), names.map((name) => cell(name, total(entry.strategy, name)))));
  return [stacking(`How ${areShops() ? 'orders' : 'requests'} ended, by ${rowWord()}`, el('table', { id: 'outcomes' }, el('thead', {}, head), el('tbody', {}, rows))),
    el('p', { class: 'faint' }, names.map((name) => OUTCOMES[name][2]).join(' · '), repeatWords())];
}

// So more answers can be a yes than units were sold.
function repeatWords() {
  const { offered, repeats } = entries[0].strategy;
  return repeats ? `. ${count(repeats)} of the ${count(offered)} requests repeat a key: a repeat gets the first yes again, and buys no second unit.` : '';
}

// ---- measurements

// The cost that replies reported: {wait, hold, commit}, each {p50, ...} in ms, trips, retries. Null: not measured.
function workOf(strategy) {
  const work = strategy.work;
  if (!work) return null;
  const part = (name) => {
    const value = work[`${name}_ms`] !== undefined ? work[`${name}_ms`] : work[name];
    return value && isNumber(value.p50) && value.count !== 0 ? value : null;
  };
  const parts = { wait: part('wait'), hold: part('hold'), commit: part('commit') };
  const isTold = (parts.wait || parts.hold || parts.commit || isNumber(work.postgres_per_order));
  return isTold ? { ...parts, work } : null;
}

// If both have the same unit, it appears once.
function spreadWords(low, high) {
  const [value, unit] = low.split(' ');
  return unit && high.endsWith(` ${unit}`) ? `${value}–${high}` : `${low.replace('/s', '')}–${high}`;
}

function spreadNote(spread, format) {
  if (!spread || !isNumber(spread.min) || !isNumber(spread.max) || spread.min === spread.max) return null;
  return el('span', { class: 'spread' }, spreadWords(format(spread.min), format(spread.max)));
}

// The stock of all rounds and products, like `sold`.
function stockOf({ strategy, run }) {
  return strategy.stock * Math.max(1, (strategy.rounds || []).length) * ((run.summary.settings || {}).items || 1);
}

const COLUMNS = [
  ['sold / stock', (entry) => (entry.strategy.verdict === 'not judged' ? notMeasured() : [count(entry.strategy.sold), el('span', { class: 'faint' }, ` / ${count(stockOf(entry))}`)]), 'sold'],
  ['p50', ({ strategy }) => [ms(latency(strategy, 'p50')), spreadNote((strategy.spread || {}).p50_ms, ms)], 'p50'],
  ['p99', ({ strategy }) => [ms(latency(strategy, 'p99')), spreadNote((strategy.spread || {}).p99_ms, ms)], 'p99'],
  ['answers', ({ strategy }) => [rate(strategy.achieved_rate), spreadNote((strategy.spread || {}).achieved_rate, rate)], 'rate'],
  ['round trips per order', ({ strategy }) => trips(strategy), 'trips'],
  ['retries per sale', ({ strategy }) => retries(strategy), 'retries'],
  ['time (p50)', ({ strategy }) => split(strategy), 'work'],
];

const COSTS = ['trips', 'retries', 'work']; // only own services tell them

const latency = (strategy, name) => (strategy.latency_ms || {})[name];

function trips(strategy) {
  const told = workOf(strategy);
  if (!told) return notMeasured();
  const { postgres_per_order: postgres, redis_per_order: redis } = told.work;
  if (!isNumber(postgres) && !isNumber(redis)) return notMeasured();
  return [`${significant(postgres || 0, 2)} pg`, redis ? el('span', { class: 'spread' }, `${significant(redis, 2)} redis`) : null];
}

function retries(strategy) {
  const told = workOf(strategy);
  return told && isNumber(told.work.retries_per_success) ? significant(told.work.retries_per_success, 2) : notMeasured();
}

function split(strategy) {
  const told = workOf(strategy);
  if (!told) return notMeasured();
  return ['wait', 'hold', 'commit'].filter((name) => told[name]).map((name) =>
    el('span', { class: 'part-of' }, el('span', { class: 'faint' }, `${name} `), ms(told[name].p50)));
}

const notMeasured = () => el('span', { class: 'faint', title: 'not measured' }, '–', el('span', { class: 'sr' }, ' not measured'));

function comparison() {
  const columns = COLUMNS.filter(([, , key]) => !areShops() || !COSTS.includes(key));
  const head = el('tr', {}, el('th', { scope: 'col' }, rowWord()), el('th', { scope: 'col' }, 'verdict'),
    columns.map(([name]) => el('th', { scope: 'col', class: 'number' }, name)));
  const rows = entries.map((entry) => el('tr', { 'data-entry': entry.id }, el('th', { scope: 'row' }, strategyLink(entry)),
    el('td', {}, verdictBadge(entry.strategy)),
    columns.map(([, cell, key]) => el('td', { class: 'number', 'data-key': key }, cell(entry)))));
  return stacking(`Measurements, by ${rowWord()}`, el('table', { id: 'comparison' }, el('thead', {}, head), el('tbody', {}, rows)));
}

// As in the summary, times are in nanoseconds, and shares are parts of 1.
function measuredWords({ text, measured }) {
  if (!isNumber(measured)) return 'nothing measured';
  if (/^\s*(service_)?(p\W*\d|mean|max)/.test(text)) return ms(measured / 1e6);
  return /%\s*$/.test(text) ? percent(measured) : significant(measured, 4);
}

function thresholdTable() {
  const outcomes = runs.flatMap((run, r) => (run.summary.thresholds || []).map((outcome) => ({ outcome, name: runName(run, r) })));
  if (outcomes.length === 0) return null;
  const rows = outcomes.map(({ outcome, name }) => el('tr', {},
    el('th', { scope: 'row' }, outcome.strategy, runs.length > 1 ? ` · ${name}` : ''),
    el('td', {}, el('code', {}, outcome.text)), el('td', { class: 'number' }, measuredWords(outcome)),
    el('td', { class: outcome.holds ? 'cell ok' : 'cell fail' }, outcome.holds ? '✓ kept' : '✗ missed')));
  return [el('h3', {}, 'Thresholds'), stacking('Thresholds', el('table', { id: 'thresholds' },
    el('thead', {}, el('tr', {}, [rowWord(), 'limit', 'measured', 'kept'].map((name) => el('th', { scope: 'col', class: name === 'measured' ? 'number' : null }, name)))),
    el('tbody', {}, rows)))];
}
