// A run with --shop: the shop at the head of the page, anomalies that were not asked, and the steps of an order.

const shopOf = (entry) => entry.run.summary.shop || null;
// Whether the page has only runs of shops. Then it says nothing that only an own strategy has.
const areShops = () => entries.length > 0 && entries.every(shopOf);
// The word for a row of a table, and the word for a request.
const rowWord = () => (areShops() ? 'shop' : 'strategy');

const versionOf = (shop) => (shop.version ? ` ${shop.version}` : '');
// "Vendure 3.7.3, 2 processes": each sentence about the shop begins so.
const shopSubject = (shop) => `${shop.name}${versionOf(shop)}, ${plural(shop.processes, 'process', 'processes')}`;

function shopHead({ shop }) {
  if (!shop) return null;
  return el('p', { class: 'shop' }, el('strong', {}, `${shop.name}${versionOf(shop)}`), `, ${plural(shop.processes, 'process', 'processes')}: ${(shop.bases || []).join(', ')}`,
    shop.config ? el('span', { class: 'shop-config' }, `Settings of the shop: ${shop.config}`) : null);
}

// ---- what was asked

// {name: reason} of the anomalies that were not asked. A list has no reasons.
function notAsked(strategy) {
  const told = strategy.not_asked || {};
  return Array.isArray(told) ? Object.fromEntries(told.map((name) => [name, ''])) : told;
}

const listed = (names) => (names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`);

// "not asked: TWIN and STALE, because ...; DUPLICATE, because ...": the words of loadgen. Anomalies with one reason stand together.
function notAskedWords(strategy) {
  const reasons = new Map();
  for (const [name, reason] of Object.entries(notAsked(strategy))) reasons.set(reason, [...(reasons.get(reason) || []), name]);
  if (reasons.size === 0) return null;
  const asked = anomalyList().map(({ name }) => name).filter((name) => notAsked(strategy)[name] === undefined);
  return el('p', { class: 'not-asked' }, strategy.verdict === 'VALID' ? [el('strong', {}, 'asked: '), `${listed(asked)}; `] : null, el('strong', {}, 'not asked: '), [...reasons].map(([reason, names]) => `${listed(names)}${reason ? `, because ${reason}` : ''}`).join('; '));
}

function oneRoundWords(entry) {
  return shopOf(entry) && entry.strategy.verdict === 'VIOLATED' && (entry.strategy.rounds || []).length < 2
    ? el('p', { class: 'one-round' }, 'One round proves that it happens, not how often.') : null;
}

// ---- the steps of an order

// p50 and p99 of a step, as parts of the longest time of all steps.
function stepBar(step, longest) {
  const part = (value) => `width: ${longest > 0 && isNumber(value) ? Math.max(0.5, 100 * value / longest).toFixed(2) : 0}%`;
  return el('span', { class: 'bars', 'aria-hidden': 'true' }, el('span', { class: 'bar bar-p50', style: part(step.p50_ms) }), el('span', { class: 'bar bar-p99', style: part(step.p99_ms) }));
}

function stepRow(step, longest) {
  const cells = [['sent', count(step.sent)], ['no reply', count(step.no_reply)], ['p50', ms(step.p50_ms)], ['p99', ms(step.p99_ms)], ['longest', ms(step.max_ms)]];
  return el('tr', {}, el('th', { scope: 'row' }, step.name, el('span', { class: 'run' }, `line ${step.line} of the shop file`)),
    cells.map(([key, text]) => el('td', { class: 'number', 'data-step': key }, text)), el('td', { class: 'step-bar' }, stepBar(step, longest)));
}

function stepTable(entry) {
  const steps = entry.strategy.steps || [], longest = Math.max(0, ...steps.map((step) => step.p99_ms).filter(isNumber));
  if (steps.length === 0) return null;
  const head = el('tr', {}, el('th', { scope: 'col' }, 'step'), ['sent', 'no reply', 'p50', 'p99', 'longest'].map((name) => el('th', { scope: 'col', class: 'number' }, name)),
    el('th', { scope: 'col' }, 'p50 above p99'));
  return [entries.length > 1 ? el('h3', {}, entry.name) : null,
    stacking(`Steps of an order, ${entry.name}`, el('table', { class: 'steps' }, el('thead', {}, head), el('tbody', {}, steps.map((step) => stepRow(step, longest)))))];
}

function stepSection() {
  const tables = entries.map(stepTable).filter(Boolean), areMany = entries.some(({ strategy }) => (strategy.rounds || []).length > 1);
  return tables.length ? section('steps', 'The steps of an order',
    `Each time counts from the sending of a step to its reply.${areMany ? ' Counts add up all rounds; p50 and p99 are the median of the rounds.' : ''}`, tables) : null;
}
