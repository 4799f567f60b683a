// The page for the class: the form, the running sale, the proof, and the schedules of the explorer.
'use strict';

(() => {
  const byId = (id) => document.getElementById(id);
  const TONES = { VALID: 'ok', VIOLATED: 'fail', INCONCLUSIVE: 'unknown' }, MARKS = { ok: '✓', fail: '✗', unknown: '?', none: '–' };
  const STOPS = [byId('stop'), byId('stop-exploring')];
  const state = { setup: null, board: null, curves: [], shownEnd: '', toldAt: 0, asked: '', summaries: new Map() };
  const toneOf = (verdict) => TONES[String(verdict).split(' ')[0]] || 'none';
  const badge = (verdict, css = 'badge') => el('strong', { class: `${css} ${toneOf(verdict)}` }, el('span', { class: 'shape', 'aria-hidden': 'true' }, MARKS[toneOf(verdict)]), verdict);

  // ---- requests; the token comes once, in the fragment of the address, and then stays in this tab only

  function takeToken() {
    if (/^#[0-9a-f]{32}$/.test(location.hash)) {
      sessionStorage.setItem('class-token', location.hash.slice(1));
      history.replaceState(null, '', location.pathname);
    }
    return sessionStorage.getItem('class-token') || '';
  }
  const token = takeToken();

  function tellProblem(text) {
    byId('problem').textContent = text || '';
    byId('problem').hidden = !text;
  }

  async function get(path) {
    const answer = await fetch(path, { cache: 'no-store' });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.json();
  }

  async function post(path, body) {
    if (state.isAsking) return;
    state.isAsking = true;
    try {
      const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Class-Token': token }, body: JSON.stringify(body) });
      const json = await answer.json();
      tellProblem(answer.ok ? '' : json.message);
    } catch (error) {
      tellProblem('The server does not answer. Start it again, and open the address that it prints.');
    }
    state.isAsking = false;
  }

  // ---- the form

  function limit(form, limits) {
    for (const [name, [least, most, usual]] of Object.entries(limits)) {
      const input = form.elements[name];
      Object.assign(input, { min: least, max: most, step: 1, value: input.value || usual });
      input.title = `${count(least)} to ${count(most)}`;
    }
  }

  function chip(kind, name, describe) {
    return el('label', { class: 'chip' }, el('input', { type: 'checkbox', name: kind, value: name, focus: describe, change: describe, mouseenter: describe }), el('span', {}, name));
  }

  function tellStrategy(strategy) {
    byId('about').replaceChildren(el('strong', {}, strategy.name), `: ${strategy.summary}. Keeps: ${strategy.promise}. Broken by: ${strategy.breaks}.`);
  }

  function showStrategies(strategies) {
    const families = new Map(), chosen = new Set(checked('strategies'));
    for (const strategy of strategies) families.set(strategy.family, [...(families.get(strategy.family) || []), strategy]);
    byId('families').replaceChildren(...[...families].map(([name, members]) => el('div', { class: 'family', role: 'group', 'aria-label': name }, el('h3', {}, name),
      el('div', { class: 'chips' }, members.map((strategy) => chip('strategies', strategy.name, () => tellStrategy(strategy)))))));
    for (const input of document.querySelectorAll('[name=strategies]')) input.checked = chosen.size ? chosen.has(input.value) : input.value === 'none';
    const select = byId('explore-form').elements.strategy, was = select.value;
    select.replaceChildren(...strategies.map((strategy) => el('option', { value: strategy.name }, strategy.name)));
    if (was) select.value = was;
    const first = strategies.find((strategy) => strategy.name === 'none');
    if (first && !chosen.size) tellStrategy(first);
  }

  async function setUp() {
    const setup = await get('/class/setup');
    state.setup = setup;
    limit(byId('ask'), setup.run);
    limit(byId('explore-form'), setup.explore);
    showStrategies(setup.strategies);
    if (!byId('ask').elements.fault.options.length) {
      byId('ask').elements.fault.replaceChildren(...setup.run_faults.map((fault) => el('option', { value: fault.name }, fault.title)));
      byId('explore-faults').append(el('div', { class: 'chips' }, setup.explore_faults.map((name) => chip('faults', name, () => {}))));
      tellFault();
    }
    byId('no-lab').hidden = setup.has_lab;
    tellProblem(setup.problem || (token ? '' : 'This page only shows runs. To start one, open the address that loadgen printed.'));
    setTimeout(() => setup.problem && setUp().catch(() => {}), 3000); // until the stack is up
    enable();
  }

  function tellFault() {
    const fault = state.setup.run_faults.find((one) => one.name === byId('ask').elements.fault.value);
    byId('fault-about').textContent = fault ? fault.about : '';
  }

  const checked = (name) => [...document.querySelectorAll(`[name=${name}]:checked`)].map((input) => input.value);
  const numbersOf = (form, limits) => Object.fromEntries(Object.keys(limits).map((name) => [name, Number(form.elements[name].value)]));

  function askRun(event) {
    event.preventDefault();
    state.asked = 'run';
    byId('stage').scrollIntoView({ block: 'nearest' });
    post('/class/run', { ...numbersOf(byId('ask'), state.setup.run), strategies: checked('strategies'), fault: byId('ask').elements.fault.value });
  }

  function askExplore(event) {
    event.preventDefault();
    const form = byId('explore-form');
    state.asked = 'explore';
    post('/class/explore', { ...numbersOf(form, state.setup.explore), strategy: form.elements.strategy.value, faults: checked('faults') });
  }

  function enable() {
    const isBusy = Boolean(state.board && state.board.doing), canAsk = Boolean(token && state.setup && !state.setup.problem);
    const focused = document.activeElement;
    byId('run').disabled = isBusy || !canAsk;
    byId('explore').disabled = isBusy || !canAsk || !state.setup.has_lab;
    for (const stop of STOPS) {
      stop.disabled = !isBusy || !token;
      stop.textContent = isBusy && state.board.is_stopping ? '■ Stopping' : '■ Stop';
    }
    // A button that gets disabled passes the focus to its neighbour.
    if (focused && focused.disabled && focused.closest('.buttons')) focused.closest('.buttons').querySelector(focused.matches('.stop') ? '.strong' : '.stop').focus();
  }

  // ---- the running sale

  const PHASES = { sending: 'sending', waiting: 'waiting for the last answers', judging: 'reading and judging the ledger' };
  const seconds = (value) => `${(value / 1000).toFixed(1)} s`;

  // The class sets the size: a longer number gets smaller digits.
  function showNumber(id, text) {
    byId(id).textContent = text;
    byId(id).className = text.length <= 3 ? '' : text.length <= 5 ? 'long' : 'longer';
  }

  function showLive(live) {
    const over = live.stock === null ? 0 : Math.max(0, live.sold - live.stock), outcomes = live.outcomes;
    const others = Object.entries(outcomes).filter(([name, n]) => n > 0 && !['sold', 'sold_out'].includes(name)).map(([name, n]) => `${name} ${count(n)}`);
    byId('stage-title').textContent = live.strategy;
    byId('phase').textContent = `Round ${live.round} of ${live.rounds}: ${live.verdict || PHASES[live.phase]}. ${seconds(live.elapsed_ms)}${live.phase === 'sending' ? ` of ${seconds(live.span_ms)}` : ''}; ` +
      `${rate(live.offered)} asked, ${rate(live.achieved)} answered${live.p99_ms === null ? '' : `, p99 ${ms(live.p99_ms)}`}`;
    showNumber('left', live.left === null ? '–' : count(live.left));
    showNumber('sold', count(live.sold));
    showNumber('refused', count(outcomes.sold_out));
    byId('of').textContent = live.stock === null ? '' : `of ${count(live.stock)}`;
    byId('over').textContent = over ? `✗ ${count(over)} too many` : '';
    byId('sold-tile').classList.toggle('bad', over > 0);
    byId('holder').textContent = live.verdict ? '–' : live.holder === undefined ? 'the services name no holder' : live.holder ? `${live.holder} holds it` : 'free at the last look';
    byId('others').textContent = [`${count(live.in_flight)} in flight`, ...others].join(' · ');
    showMeter(live.sold, live.stock || 0);
  }

  function showMeter(sold, stock) {
    const most = Math.max(stock * 1.25, sold * 1.05, 1), part = (value) => `${value / most * 100}%`;
    byId('meter-sold').style.width = part(Math.min(sold, stock));
    byId('meter-over').style.left = part(stock);
    byId('meter-over').style.width = part(Math.max(0, sold - stock));
    byId('meter-stock').style.left = part(stock);
  }

  // Units sold over time: one curve for each round.
  function addPoint(live) {
    const last = state.curves[state.curves.length - 1];
    if (!last || last.round !== live.round) state.curves.push({ round: live.round, name: live.strategy, points: [[0, 0]], stock: live.stock, span: live.span_ms });
    const { points } = state.curves[state.curves.length - 1];
    if (points.length < 2000) points.push([live.elapsed_ms, live.sold]);
  }

  function drawChart() {
    const width = byId('chart').clientWidth, height = 220, left = 52, right = Math.min(110, width / 5), bottom = 26, { curves } = state;
    if (!curves.length) return byId('chart').replaceChildren();
    const stock = Math.max(...curves.map((curve) => curve.stock || 0)), end = Math.max(...curves.map((curve) => Math.max(curve.span, curve.points[curve.points.length - 1][0])), 1);
    const most = Math.max(stock * 1.15, ...curves.map((curve) => Math.max(...curve.points.map(([, sold]) => sold))), 1);
    const x = (at) => left + at / end * (width - left - right), y = (sold) => height - bottom - sold / most * (height - bottom - 14);
    const line = curves.map((curve) => {
      const [at, sold] = curve.points[curve.points.length - 1], isBad = sold > curve.stock;
      return [svg('polyline', { class: `curve ${isBad ? 'bad' : ''}`, points: curve.points.map(([t, n]) => `${x(t).toFixed(1)},${y(n).toFixed(1)}`).join(' ') }),
        svg('text', { class: 'name', x: x(at) + 6, y: y(sold) + (isBad ? 4 : 16) }, curve.name)];
    });
    byId('chart').replaceChildren(svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Units sold over time: ${curves.map((curve) => `${curve.name} ${curve.points[curve.points.length - 1][1]}`).join(', ')}; stock ${stock}` },
      svg('line', { class: 'axis', x1: left, x2: width, y1: y(0), y2: y(0) }), svg('line', { class: 'limit', x1: left, x2: width, y1: y(stock), y2: y(stock) }),
      svg('text', { x: left - 6, y: y(stock) + 5, 'text-anchor': 'end' }, count(stock)), svg('text', { x: left - 6, y: y(0) + 5, 'text-anchor': 'end' }, '0'),
      svg('text', { x: left, y: height - 6 }, 'sold, over time'), svg('text', { x: x(end), y: height - 6, 'text-anchor': 'end' }, seconds(end)), line));
    return undefined;
  }

  // Tells a screen reader the state every three seconds, and a verdict at once.
  function say(live) {
    if (!live.verdict && Date.now() - state.toldAt < 3000) return;
    state.toldAt = Date.now();
    const over = live.stock !== null && live.sold > live.stock ? `, ${live.sold - live.stock} too many` : '';
    byId('told').textContent = `${live.strategy}: ${live.verdict || PHASES[live.phase]}. ${live.sold} sold of ${live.stock}${over}.`;
  }

  function card(round) {
    const over = Math.max(0, round.sold - round.stock);
    return el('li', { class: `card ${toneOf(round.verdict)}` }, el('h3', {}, round.strategy), badge(round.verdict.split(' ')[0], 'big'),
      round.verdict.includes(' ') ? el('p', {}, el('strong', {}, round.verdict.split(' ').slice(1).join(' '))) : null,
      el('p', {}, `sold ${count(round.sold)} of ${count(round.stock)}${over ? `: ${count(over)} too many` : ''}; refused ${count(round.outcomes.sold_out)}; p99 ${round.p99_ms === null ? '–' : ms(round.p99_ms)}`));
  }

  function showBoard(board) {
    const isNew = !state.board || (board.doing && (!state.board.doing || board.title !== state.board.title || board.rounds.length < state.board.rounds.length));
    state.board = board;
    enable();
    if (isNew && board.doing === 'run') Object.assign(state, { curves: [], toldAt: 0 });
    if (board.doing === 'run' && !board.live) Object.assign(byId('phase'), { textContent: `Making the products for ${board.title}.` });
    if (board.live) {
      addPoint(board.live);
      showLive(board.live);
      say(board.live);
      drawChart();
    }
    if (board.rounds.length || board.doing === 'run') byId('cards').replaceChildren(...board.rounds.map(card));
    if (board.doing) {
      byId('proof').hidden = byId('proof').hidden || board.doing === 'run';
      state.shownEnd = '';
    }
    if (board.doing === 'explore') {
      byId('explored-told').textContent = `Exploring ${board.title} …`;
      byId('steps').replaceChildren();
    }
    if (board.ended && state.shownEnd !== JSON.stringify(board.ended)) {
      state.shownEnd = JSON.stringify(board.ended);
      showEnd(board.ended).catch((error) => tellProblem(`The result cannot be read: ${error.message}`));
    }
  }

  // ---- the result

  function howItEnded(ended, program) {
    if (ended.was_stopped) return '';
    const how = ended.signal ? `was killed by signal ${ended.signal}` : `ended with exit code ${ended.exit_code}`;
    return `${program} ${how}.${ended.said ? `\n${ended.said.trim()}` : ''}`;
  }

  async function showEnd(ended) {
    if (ended.kind === 'explore') return showExplored(ended);
    if (!ended.folder) tellProblem(howItEnded(ended, 'loadgen'));
    if (ended.was_stopped) byId('phase').textContent = `Stopped${ended.folder ? ', and judged up to that moment' : ' before a round was judged'}.`;
    if (ended.folder) await showProof(ended.folder);
    return showComparison(ended.folder);
  }

  async function summaryOf(folder) {
    if (!state.summaries.has(folder)) state.summaries.set(folder, await get(`/runs/${folder}/summary.json`).catch(() => null));
    return state.summaries.get(folder);
  }

  // A, B and C are letters of the page. Ids differ only at their end, so only the end is shown.
  function marked(text) {
    return text.split(/\b([ABC]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/).map((part, i) => (i % 2 === 0 ? part
      : part.length === 1 ? el('b', { class: `letter letter-${part}` }, part) : el('span', { title: part }, `…${part.slice(-12)}`)));
  }

  async function showProof(folder) {
    const summary = await summaryOf(folder);
    if (!summary) return;
    const parts = summary.strategies.map((strategy) => [el('h3', {}, `${strategy.strategy}: `, badge(strategy.verdict)), el('p', {}, strategy.sentence || ''),
      (strategy.inconclusive_because || []).map((why) => el('p', {}, why)),
      (strategy.firings || []).map((one) => el('p', { class: 'hint' }, `${one.armed}: ${one.times ? `fired ${plural(one.times, 'time')}, first after ${seconds(one.first.at_ms)}` : 'never fired'}`)),
      (strategy.counterexamples || []).slice(0, 2).map((example) => el('div', { class: 'prose' }, el('p', {}, el('strong', {}, example.anomaly)), (example.lines || []).map((line) => el('p', {}, marked(line)))))]);
    byId('proof-text').replaceChildren(...parts.flat(3), el('p', {}, el('a', { href: `/runs/${folder}/report.html` }, 'The report of this run'), ' · ',
      el('a', { href: `/runs/${folder}/violations.txt` }, 'every counterexample')));
    byId('proof').hidden = false;
  }

  function comparisonRow(folder, summary, strategy, isNew) {
    // Sold is of all rounds and products, so the stock is, too.
    const { settings } = summary, stock = strategy.stock * Math.max(1, (strategy.rounds || []).length) * (settings.items || 1), over = strategy.sold > stock, answered = Number(strategy.achieved_rate);
    const cell = (label, text, css) => el('td', { class: css, 'data-label': label }, text);
    const faults = (settings.faults || []).join(', ');
    return el('tr', { class: isNew ? 'new' : null }, el('th', { scope: 'row', class: 'time' }, el('a', { href: `/runs/${folder}/report.html` }, isNew ? 'this run' : String(summary.started_at).slice(11, 19))),
      cell('strategy', strategy.strategy), cell('verdict', badge(strategy.verdict)), cell('sold / stock', `${count(strategy.sold)} / ${count(stock)}`, `number ${over ? 'bad' : ''}`),
      cell('twins', count(strategy.twins), `number ${strategy.twins > 0 ? 'bad' : ''}`), cell('p50', ms((strategy.latency_ms || {}).p50), 'number time'), cell('p99', ms((strategy.latency_ms || {}).p99), 'number time'),
      cell('answered', rate(answered), 'number'), cell('conditions', `${count(settings.requests)} at ${count(settings.rate)}/s, work ${settings.work}${faults ? `, ${faults}` : ''}`));
  }

  async function showComparison(newest) {
    const folders = await get('/class/runs'), rows = [];
    for (const folder of folders) {
      const summary = await summaryOf(folder);
      if (summary && summary.settings && Array.isArray(summary.strategies)) rows.push(...summary.strategies.map((strategy) => comparisonRow(folder, summary, strategy, folder === newest)));
    }
    byId('comparison').tBodies[0].replaceChildren(...rows);
    byId('comparison').hidden = rows.length === 0;
    byId('before-none').hidden = rows.length > 0;
  }

  async function showExplored(ended) {
    const explored = [0, 1, 2].includes(ended.exit_code) && !ended.signal ? await get('/class/explored').catch(() => null) : null;
    byId('explored-told').textContent = explored ? '' : ended.was_stopped ? 'Stopped.' : howItEnded(ended, 'lab');
    byId('steps').replaceChildren();
    if (explored) Steps.show(byId('steps'), explored);
    if (state.asked !== 'explore') return;
    state.asked = '';
    byId(explored ? 'steps' : 'explored-told').scrollIntoView({ block: 'start' });
    const lanes = document.querySelector('.steps-lanes');
    if (lanes) lanes.focus({ preventScroll: true });
  }

  // ---- the events

  function tellLink(isThere) {
    byId('link').textContent = isThere ? '● live' : '○ no answer: does the server still run?';
    byId('link').className = `badge ${isThere ? 'ok' : 'unknown'}`;
  }

  function listen() {
    const events = new EventSource('/class/events');
    events.addEventListener('open', () => tellLink(true));
    events.addEventListener('board', (event) => showBoard(JSON.parse(event.data)));
    events.addEventListener('error', () => {
      tellLink(false);
      if (events.readyState !== EventSource.CLOSED) return;
      setTimeout(listen, 2000);
    });
  }

  byId('ask').addEventListener('submit', askRun);
  byId('explore-form').addEventListener('submit', askExplore);
  for (const stop of STOPS) stop.addEventListener('click', () => post('/class/stop', {}));
  byId('ask').elements.fault.addEventListener('change', tellFault);
  enable();
  setUp().then(listen, (error) => tellProblem(`The server does not answer: ${error.message}`));
  showComparison('').catch(() => {});
})();
