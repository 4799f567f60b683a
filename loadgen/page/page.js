// Builds the page, and shows the chosen strategy.

function tabList(panel) {
  const tabs = entries.map((entry) => el('button', { type: 'button', role: 'tab', id: `tab-${entry.id}`, 'aria-controls': 'panel',
    class: `tab ${kindOf(entry.strategy).tone}`, click: () => choose(entry.id) },
    el('span', { class: 'shape', 'aria-hidden': 'true' }, kindOf(entry.strategy).mark), entry.name,
    el('span', { class: 'sr' }, ` ${entry.strategy.verdict}`)));
  const list = el('div', { role: 'tablist', class: 'tabs', 'aria-label': areShops() ? 'Shop' : 'Strategy' }, tabs);
  const select = (id) => tabs.forEach((tab) => {
    const isChosen = tab.id === `tab-${id}`;
    tab.setAttribute('aria-selected', String(isChosen));
    tab.setAttribute('tabindex', isChosen ? '0' : '-1');
    if (isChosen) panel.setAttribute('aria-labelledby', tab.id);
  });
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(document.activeElement), last = tabs.length - 1;
    const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (next === undefined || at < 0) return;
    event.preventDefault();
    choose(entries[next].id);
    tabs[next].focus();
  });
  return { list, select };
}

function choose(id) {
  if (location.hash === `#${id}`) showChosen();
  else history.replaceState(null, '', `#${id}`);
  showChosen();
}

const chosen = { panel: null, tabs: null, id: null };
function showChosen() {
  const wanted = location.hash.slice(1), entry = entries.find(({ id }) => id === wanted) || entries[0];
  if (!entry || chosen.id === entry.id) return;
  hideTip();
  chosen.id = entry.id;
  chosen.tabs.select(entry.id);
  chosen.panel.replaceChildren(...strategyCharts(entry));
}

function strategySection() {
  chosen.panel = el('div', { role: entries.length > 1 ? 'tabpanel' : null, id: 'panel', tabindex: '-1' });
  chosen.tabs = tabList(chosen.panel);
  const part = section('strategy', entries.length === 1 ? 'Over time' : areShops() ? 'Shop by shop' : 'Strategy by strategy', null, entries.length > 1 ? chosen.tabs.list : null, chosen.panel);
  part.querySelector('details').open = true; // its charts have folds of their own
  return part;
}

function strategyCharts(entry) {
  const { strategy, chart } = entry;
  const head = el('div', { class: 'strategy-head' }, el('h3', { class: 'strategy-name' }, entry.name), verdictBadge(strategy),
    chart && (strategy.rounds || []).length > 1
      ? el('span', { class: 'faint' }, `counts and percentiles: all ${strategy.rounds.length} rounds; drawings: round ${chart.repeat + 1}`) : null,
    saidOf(entry), oneRoundWords(entry), foundList(strategy), notAskedWords(strategy));
  return [head, stockChart(entry), exampleSection(entry), outcomeChart(entry), latencyChart(entry), ladderChart(entry)]
    .filter(Boolean);
}

// A link of a table names a strategy: show it, and scroll to its charts.
function followHash() {
  const isStrategy = entries.some(({ id }) => `#${id}` === location.hash);
  showChosen();
  if (isStrategy) document.getElementById('strategy').scrollIntoView();
}

function anomalySection() {
  const isAny = entries.some(({ strategy }) => strategy.verdict !== 'not judged');
  return section('anomalies', 'Anomalies', isAny ? `✓ none found · ✗ found, with the count · – not judged${entries.some(({ strategy }) => notAskedWords(strategy)) ? ' · ○ not asked' : ''}` : 'No ledger was read, so nothing was judged.',
    isAny ? anomalyGrid() : null, thresholdTable());
}

function whySection() {
  if (areShops()) return null; // replies of a shop tell nothing of locks and round trips
  const parts = [workChart(), tradeoffChart(), capacitySection()].filter(Boolean);
  return section('tradeoff', parts.length > 1 ? 'Why, and what to choose' : 'Why', null, parts);
}

function title() {
  const names = runs.map(runName).filter(Boolean);
  const shop = runs[0] && runs[0].summary.shop;
  return runs.length > 1 ? `${runs.length} runs compared` : runs[0] && runs[0].summary.name ? names[0] : shop ? `Flash sale at ${shop.name}${versionOf(shop)}` : 'Flash sale report';
}

function build() {
  loadRuns();
  loadEntries();
  document.title = `${title()} · loadgen`;
  const main = document.getElementById('main');
  main.replaceChildren(el('header', {}, el('p', { class: 'brand' }, 'loadgen report'), el('h1', {}, title())),
    ...runs.map(runBanner));
  if (entries.length) {
    const areOrders = areShops();
    main.append(...[anomalySection(),
      section('outcomes-part', areOrders ? 'How the orders ended' : 'How the requests ended', 'All rounds together.', outcomeTotals()),
      section('measurements', areOrders ? 'How long it took' : 'What it cost', `Response time counts from the planned moment of each ${areOrders ? 'order to its last reply' : 'request'}. The range of the rounds stands below a figure.`, unkeptNote(), comparison()),
      stepSection(), whySection(), strategySection(), caveats()].filter(Boolean));
    window.addEventListener('hashchange', followHash);
    showChosen();
  }
  main.append(el('footer', {}, 'Made by loadgen. All numbers are from summary.json, which this file contains.'));
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hideTip(); });
  window.addEventListener('scroll', hideTip, { passive: true });
}

build();
