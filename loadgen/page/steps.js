// Shows the schedule of `lab explore --json` step by step, forward and back. Steps.show(node, explored) fills the node from
// that object only. It needs nothing but steps.css, so a page of one file can use it, too.
'use strict';

const Steps = (() => {
  // Text is set as text, so a name is never markup.
  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === 'function') node.addEventListener(name, value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  const number = (value) => (typeof value === 'number' && isFinite(value) ? value.toLocaleString('en-US') : '–');
  const amount = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;
  const isOrder = (actor) => actor !== 'clock' && actor !== 'fault';

  // The bound of the exploration, and whether it was complete.
  function headline(explored) {
    const bound = `${amount(explored.orders, 'order', 'orders')} on ${amount(explored.instances, 'instance', 'instances')}, stock ${number(explored.stock)}, ` +
      `at most ${amount(explored.preemptions, 'preemption', 'preemptions')}, faults: ${(explored.faults || []).join(', ') || 'none'}`;
    const seen = `${amount(explored.schedules, 'schedule', 'schedules')} in ${number(explored.seconds)} s`;
    if (explored.violation) return { tone: 'fail', word: (explored.violation.anomalies || []).join(' + ') || 'VIOLATED', text: `${explored.spec} fails in this schedule. ${bound}; ${seen}.` };
    if (explored.complete) return { tone: 'ok', word: 'NO VIOLATION', text: `${explored.spec} holds in every schedule within the bound: ${bound}; ${seen}, complete.` };
    return { tone: 'unknown', word: 'NOT COMPLETE', text: `No violation so far, but a limit was hit before all schedules were seen: ${bound}; ${seen}.` };
  }

  const leftAfter = (step) => (Array.isArray(step.stock) ? step.stock.reduce((sum, one) => sum + one, 0) : null);
  const stockText = (step) => (!Array.isArray(step.stock) ? '–' : step.stock.length > 1 ? `${leftAfter(step)} (${step.stock.join(' + ')})` : `${leftAfter(step)}`);
  const who = (step) => (!isOrder(step.actor) ? step.actor : `Order ${step.actor}${step.instance ? ` on ${step.instance}` : ''}`);
  const what = (step) => `${who(step)}: ${step.action}${step.detail ? `, ${step.detail}` : ''}`;

  function row(step, actors, columns) {
    const left = make('span', { class: 'steps-left' }, stockText(step)), at = make('span', { class: 'steps-number' }, `${step.number}`);
    const text = [make('b', {}, step.action), step.detail ? `${step.detail}` : null];
    const lanes = isOrder(step.actor)
      ? actors.map((actor) => (actor === step.actor ? make('div', { class: `op order-${actor}` }, text) : make('span', {})))
      : [make('div', { class: `band ${step.actor}` }, `${step.actor}: ${step.action}${step.detail ? `, ${step.detail}` : ''}`)];
    const node = make('div', { class: 'steps-row', 'aria-hidden': 'true' }, at, lanes, left);
    node.style.gridTemplateColumns = columns;
    if (!isOrder(step.actor)) lanes[0].style.gridColumn = `2 / span ${actors.length}`;
    return node;
  }

  // ---- the viewer is the scheduler

  // The number of moves from each state to the nearest broken one.
  function distances(states) {
    const before = states.map(() => []), far = states.map((state) => (state.broken ? 0 : Infinity)), queue = [...states.keys()].filter((at) => states[at].broken);
    states.forEach((state, at) => (state.moves || []).forEach((move) => before[move.to].push(at)));
    for (const at of queue) for (const from of before[at]) if (far[from] === Infinity) queue.push(from), far[from] = far[at] + 1;
    return far;
  }

  // explored.choices is a graph of states. A move's steps count their clock from the move before it.
  function choose(explored) {
    const { states, is_complete: isComplete } = explored.choices, far = distances(states), way = [];
    const said = make('div', { class: 'choose-now', role: 'status', 'aria-live': 'polite' }), taken = make('ol', { class: 'choose-taken' }), moves = make('div', { class: 'choose-moves' });
    const letters = Array.from({ length: explored.orders }, (_, i) => String.fromCharCode(65 + i));
    const button = (text, click, isOff) => make('button', { type: 'button', click, 'aria-disabled': Boolean(isOff) }, text);
    const bound = isComplete ? `All ${amount(states.length, 'state', 'states')} of these orders are here.`
      : `${amount(states.length, 'state', 'states')} are here: those of the shortest schedule, and the others with the fewest moves. At the border go back.`;

    function tell(state, steps, hint) {
      const last = steps[steps.length - 1], isBorder = !state.moves && !state.broken;
      const told = state.broken ? [make('p', { class: 'choose-what' }, `✗ ${state.broken.anomalies}`), make('p', {}, state.broken.summary),
        make('p', {}, `You broke it in ${amount(way.length, 'move', 'moves')}; the shortest way on this page has ${number(far[0])}.`)]
        : state.has_ended ? make('p', { class: 'choose-what' }, '✓ This schedule holds.') : isBorder ? make('p', {}, 'The border: this page knows no move from here. Go back.')
          : letters.map((letter) => make('p', {}, make('b', {}, letter), ` ${(steps.filter((step) => step.actor === letter).map((step) => what(step)).pop() || 'has not come')}`));
      said.classList.toggle('bad', Boolean(state.broken));
      said.replaceChildren(...[told].flat(), make('p', { class: 'steps-facts' }, make('span', {}, `stock ${last ? stockText(last) : number(explored.stock)}`),
        make('span', {}, `sold ${number(last ? last.sold : 0)} of ${number(explored.stock)}`)), hint ? make('p', {}, hint) : '');
    }

    function hintAt(at) {
      const best = (states[at].moves || []).findIndex((move) => far[move.to] === far[at] - 1);
      return best < 0 ? 'Nothing on this page breaks from here: go back.' : `Hint: move ${best + 1}. The nearest violation is ${amount(far[at], 'move', 'moves')} away.`;
    }

    function draw(isFocused, hint) {
      const at = way.length ? way[way.length - 1].to : 0, state = states[at], steps = way.flatMap((move) => move.steps), isOver = !(state.moves || []).length;
      const go = (change) => () => { change(); draw(true); };
      tell(state, steps, hint);
      taken.replaceChildren(...steps.map((step) => make('li', {}, what(step))));
      moves.replaceChildren(...(state.moves || []).map((move, i) => button(`${i + 1}. ${move.steps.map(what).join('; ')}`, go(() => way.push(move)))),
        make('div', { class: 'steps-buttons' }, button('◀ Back', go(() => way.pop()), !way.length), button('Hint', () => draw(true, hintAt(at)), isOver), button('Begin again', go(() => way.splice(0)), !way.length)));
      if (isFocused) moves.querySelector('button').focus();
    }

    draw(false);
    return make('details', { class: 'steps-choose' }, make('summary', {}, 'Break it yourself: you are the scheduler'),
      make('p', { class: 'choose-bound' }, `Choose the next move, again and again, until a unit is sold twice or another promise breaks. ${bound}`), said, moves, taken);
  }

  function show(host, explored) {
    const { violation } = explored, head = headline(explored), steps = (violation && violation.steps) || [];
    const title = [make('p', { class: 'headline' }, make('strong', { class: `big ${head.tone}` }, make('span', { class: 'shape', 'aria-hidden': 'true' },
      { ok: '✓', fail: '✗', unknown: '?' }[head.tone]), head.word)), make('p', { class: 'steps-bound' }, head.text)];
    if (violation && violation.summary) title.push(make('p', { class: 'steps-summary' }, violation.summary));
    if (!steps.length) {
      host.replaceChildren(make('div', { class: 'steps' }, title, explored.choices ? choose(explored) : null));
      return;
    }
    const actors = [...new Set(steps.map((step) => step.actor).filter(isOrder))].sort(), columns = `var(--steps-number) repeat(${Math.max(1, actors.length)}, minmax(0, 1fr)) var(--steps-left)`;
    const place = make('p', { class: 'steps-place' }), said = make('p', { class: 'steps-what' }), facts = make('p', { class: 'steps-facts' });
    const now = make('div', { class: 'steps-now', role: 'status', 'aria-live': 'polite', 'aria-atomic': 'true' }, place, said, facts);
    const rows = steps.map((step) => row(step, actors, columns));
    const names = make('div', { class: 'steps-row steps-head', 'aria-hidden': 'true' }, make('span', { class: 'steps-number' }, '#'),
      actors.map((actor) => make('span', {}, `${actor}`)), make('span', { class: 'steps-left' }, 'left'));
    names.style.gridTemplateColumns = columns;
    const lanes = make('div', { class: 'steps-lanes', tabindex: '0', role: 'group', 'aria-roledescription': 'schedule',
      'aria-label': `The schedule: ${steps.length} steps of ${actors.length} orders. Arrow keys go forward and back.` }, names, rows);
    const slider = make('input', { type: 'range', min: 1, max: steps.length, value: 1, 'aria-label': 'Step', input: () => go(Number(slider.value) - 1) });
    const buttons = { first: () => 0, back: () => at - 1, forward: () => at + 1, last: () => steps.length - 1 };
    const texts = { first: 'First', back: '◀ Back', forward: 'Forward ▶', last: 'Last' };
    const made = Object.fromEntries(Object.keys(buttons).map((name) => [name, make('button', { type: 'button', class: `steps-${name}`, click: () => go(buttons[name]()) }, texts[name])]));
    let at = 0;

    // A disabled button would lose the focus, so a button without effect only gets aria-disabled.
    function go(to) {
      at = Math.max(0, Math.min(steps.length - 1, to));
      const step = steps[at], over = explored.stock < step.sold, isLast = at === steps.length - 1;
      place.textContent = `Step ${at + 1} of ${steps.length}`;
      said.textContent = what(step);
      facts.replaceChildren(make('span', {}, `clock ${number(step.now_ms)} ms`), make('span', {}, `stock ${stockText(step)}`),
        make('span', { class: over ? 'bad' : null }, `sold ${number(step.sold)} of ${number(explored.stock)}${over ? `, ${number(step.sold - explored.stock)} too many` : ''}`),
        isLast ? make('span', { class: 'bad' }, `✗ ${head.word}`) : '');
      now.classList.toggle('bad', isLast);
      slider.value = at + 1;
      slider.setAttribute('aria-valuetext', place.textContent);
      rows.forEach((node, i) => { node.classList.toggle('now', i === at); node.classList.toggle('later', i > at); });
      for (const name of ['first', 'back']) made[name].setAttribute('aria-disabled', at === 0);
      for (const name of ['forward', 'last']) made[name].setAttribute('aria-disabled', isLast);
      lanes.scrollTop = rows[at].offsetTop - (lanes.clientHeight - rows[at].offsetHeight) / 2;
    }

    const goBy = (event) => {
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: steps.length - 1 }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(to);
    };
    lanes.addEventListener('keydown', goBy);
    // Elsewhere on the page the vertical arrows scroll, and a field has its own keys.
    const onKey = (event) => {
      if (!lanes.isConnected) document.removeEventListener('keydown', onKey);
      else if (!event.defaultPrevented && !event.target.closest('input, select, textarea') && ['ArrowLeft', 'ArrowRight'].includes(event.key)) goBy(event);
    };
    document.addEventListener('keydown', onKey);
    rows.forEach((node, i) => node.addEventListener('click', () => go(i)));
    host.replaceChildren(make('div', { class: 'steps' }, title, make('div', { class: 'steps-buttons' }, made.first, made.back, made.forward, made.last, slider), now, lanes, explored.choices ? choose(explored) : null));
    go(0);
  }

  return { show };
})();
