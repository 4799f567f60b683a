// The banner, with the result in words readable from the back of the room; and the caveats.

const EXIT_TONES = { 0: 'ok', 1: 'fail', 2: 'unknown', 70: 'fail', 99: 'fail', 130: 'unknown' };

function headline(strategies) {
  const kinds = ['VIOLATED', 'INCONCLUSIVE', 'VALID', 'not judged'].map((kind) =>
    [kind, strategies.filter((strategy) => strategy.verdict === kind).length]).filter(([, n]) => n > 0);
  if (kinds.length === 0) return el('p', { class: 'headline none' }, 'No round was finished');
  return el('p', { class: 'headline' }, kinds.map(([kind, n]) => el('span', { class: `big ${KINDS[kind].tone}` },
    el('span', { class: 'shape', 'aria-hidden': 'true' }, KINDS[kind].mark), strategies.length > 1 ? `${n} ${kind}` : kind)));
}

function verdictCard(entry) {
  const { strategy } = entry, kind = kindOf(strategy);
  const [tone, words] = expectedWords(strategy);
  const why = (strategy.anomalies || []).length ? '' : (strategy.inconclusive_because || [])[0] || boundWords(strategy) || '';
  return el('li', { class: `card ${kind.tone}`, 'data-entry': entry.id, 'data-verdict': strategy.verdict },
    el('a', { href: `#${entry.id}`, class: 'card-name' }, shopOf(entry) ? shopSubject(shopOf(entry)) : strategy.strategy), entries.length > 1 ? verdictBadge(strategy) : null,
    saidOf(entry), oneRoundWords(entry), foundList(strategy), why ? el('span', { class: 'card-why' }, why) : null, notAskedWords(strategy),
    strategy.verdict === 'not judged' || !isExpectationTold(entry) ? null : el('span', { class: `card-expected tone-${tone}` }, words));
}

// Of a shop that was expected to be VALID, the verdict says it all.
const isExpectationTold = (entry) => !shopOf(entry) || (entry.strategy.expected || 'VALID') !== 'VALID';

// "cheapest valid: atomic: of the fast strategies ...", the sentence of loadgen.
function recommendation({ recommendation: made }) {
  if (!made || !made.sentence) return null;
  const name = `cheapest valid: ${made.strategy}`, rest = made.sentence.startsWith(name) ? made.sentence.slice(name.length) : '';
  return el('p', { class: 'recommendation' }, el('strong', {}, `C${(rest ? name : made.sentence).slice(1)}`), rest);
}

function boundWords(strategy) {
  if (!isNumber(strategy.rate_bound)) return null;
  const end = strategy.stock_ran_out === false ? '; the stock never ran out: its last units were not tested' : '';
  return `no anomaly in ${count(strategy.overlapping_attempts)} overlapping attempts${end}`;
}

function copyButton(text) {
  const button = el('button', { type: 'button', class: 'copy', click: async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {
      const area = el('textarea', { class: 'sr' }, text);
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
      button.focus();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  } }, 'Copy');
  return button;
}

function commandOf(summary) {
  return summary.command || '';
}

const stageWords = (stage) => `${brief(stage.duration_ms)} at ${stage.from_rate === stage.to_rate ? '' : `${significant(stage.from_rate, 3)} to `}` +
  rate(stage.to_rate);

function revisionWords({ revision }) {
  if (!revision || !revision.git) return null;
  return `${revision.git.slice(0, 12)}${revision.is_dirty ? ' with changes' : ''}`;
}

function machineWords({ machine }) {
  if (!machine) return null;
  return [machine.cpu, isNumber(machine.cores) ? plural(machine.cores, 'core') : null].filter(Boolean).join(', ') || null;
}

function facts(run) {
  const { summary } = run, settings = summary.settings || {}, { shop } = summary, request = shop ? 'customers' : 'requests';
  const list = [
    ['shop', shop ? `${shop.name}${versionOf(shop)}` : null],
    ['settings of the shop', shop ? shop.config : null],
    ['base URLs', shop ? (shop.bases || []).join(', ') : null],
    ['shop file', shop ? shop.file : null],
    ['when', summary.started_at ? summary.started_at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC') : null],
    ['load', (settings.stages || []).length > 1 ? `${settings.stages.map(stageWords).join(', ')}, ${settings.arrival}` : isNumber(settings.rate) ? `${rate(settings.rate)}, ${count(settings.requests)} ${request}, ${settings.arrival || ''}` : null],
    ['stock', isNumber(settings.stock) && settings.is_judged !== false ? `${count(settings.stock)}${settings.items > 1 ? ` × ${count(settings.items)} products` : ''}` : null],
    ['rounds', settings.repeat > 1 ? `${count(settings.repeat)}${shop ? '' : ' of each strategy, in rotating order'}` : null],
    ['seed', isNumber(settings.seed) ? String(settings.seed) : null],
    ['target', shop ? null : settings.target || null],
    ['machine', machineWords(run.environment)],
    ['revision', revisionWords(run.environment)],
  ];
  return el('dl', { class: 'facts' }, list.filter(([, value]) => value).map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function runBanner(run, index) {
  const { summary } = run, strategies = summary.strategies || [], command = commandOf(summary);
  const isUnjudged = summary.exit_code === 0 && strategies.every((strategy) => strategy.verdict === 'not judged');
  const tone = isUnjudged ? 'none' : EXIT_TONES[summary.exit_code] || 'unknown', meaning = summary.exit_meaning;
  return el('section', { class: 'banner', 'aria-label': 'Verdict' },
    runs.length > 1 ? el('h2', {}, runName(run, index)) : null,
    shopHead(summary),
    headline(strategies),
    el('ul', { class: 'cards' }, entries.filter((entry) => entry.run === run).map(verdictCard)),
    recommendation(summary),
    el('p', { class: 'exit' }, el('strong', { class: `tone-${tone}` }, `Exit ${summary.exit_code}`), meaning ? `: ${meaning}.` : '.'),
    summary.is_interrupted ? el('p', {}, el('strong', { class: 'tone-unknown' }, 'The run was interrupted.'),
      ' Strategies without a finished round are not shown.') : null,
    summary.is_left_down ? el('p', {}, el('strong', { class: 'tone-unknown' }, 'The run ended early.'),
      ' Servers that a fault stopped did not come up again, so the next round could sell nothing.') : null,
    command ? el('div', { class: 'command' }, el('span', { class: 'label' }, 'Reproduce'), el('code', {}, tokens(command)), copyButton(command)) : null,
    fold(el('strong', {}, 'Conditions'), facts(run)));
}

// No line breaks at the dashes of an option.
const tokens = (command) => command.split(' ').flatMap((token, i) => [i ? ' ' : '', token.length < 30 ? el('span', { class: 'token' }, token) : token]);

// ---- caveats

function roundNotes(strategy) {
  const rounds = strategy.rounds;
  if (!Array.isArray(rounds) || rounds.length < 2) return null;
  const spread = (strategy.spread || {}).p99_ms;
  return `${rounds.length} rounds${spread && isNumber(spread.min) ? `; p99 from ${ms(spread.min)} to ${ms(spread.max)}` : ''}`;
}

function caveatNotes(entry) {
  const { strategy, chart } = entry, notes = [];
  const schedule = strategy.schedule || {};
  if (isNumber(strategy.rate_bound))
    notes.push(`no anomaly in ${count(strategy.overlapping_attempts)} overlapping attempts: with 95 % confidence the true rate under this load is below ` +
      `${significant(strategy.rate_bound, 2)} (3/n). It may be above zero.`);
  if (strategy.moments_known_to_ms > 0)
    notes.push(`the clocks of several hosts measured it: moments are known to ±${significant(strategy.moments_known_to_ms, 2)} ms. ` +
      `Pairs of attempts that count as overlapping and may not have: ${count(strategy.unsure_pairs)}.`);
  for (const reason of strategy.inconclusive_because || []) notes.push(`inconclusive because ${reason}.`);
  if (isNumber(schedule.within_1ms_percent))
    notes.push(`${significant(schedule.within_1ms_percent, 4)} % of the requests were sent within 1 ms of plan, ` +
      `${significant(schedule.within_10ms_percent, 4)} % within 10 ms.`);
  notes.push(`${plural(strategy.offered, 'request')} in ${roundNotes(strategy) || 'one round; --repeat shows how much rounds differ'}.`);
  if (chart && chart.scatter && chart.scatter.points.length < chart.scatter.of)
    notes.push(`the scatter shows ${count(chart.scatter.points.length)} of ${count(chart.scatter.of)} requests: the slowest of each ` +
      'interval, all rare outcomes, and a sample of the rest. Lines and tables use all requests.');
  if (chart && chart.clock && chart.clock.sales > 0)
    notes.push(chart.clock.outside === 0 ? 'every sale was written between the sending and the answer of its request, by the clocks of both.'
      : `${count(chart.clock.outside)} of ${count(chart.clock.sales)} sales were written outside of their request, by the clocks of both: the order of events of different clocks is only that exact.`);
  return notes;
}

// Also when a larger --late allows a verdict: the measured times are not only the target's.
function unkeptNote() {
  const unkept = entries.filter(({ strategy }) => (strategy.schedule || {}).within_10ms_percent < 95);
  return unkept.length ? el('p', { class: 'unkept' }, el('strong', { class: 'tone-unknown' }, 'The schedule was missed'),
    ` under ${unkept.map(({ name, strategy }) => `${name} (${significant(100 - strategy.schedule.within_10ms_percent, 3)} % of the requests were sent more than 10 ms late)`).join(', ')}: ` +
    'the response times there include this delay of loadgen.') : null;
}

// A note about several strategies appears once.
function caveatRows() {
  const names = new Map();
  for (const entry of entries) for (const note of caveatNotes(entry)) names.set(note, [...(names.get(note) || []), entry.name]);
  return [...names].map(([note, of]) =>
    el('li', {}, of.length === entries.length ? note[0].toUpperCase() + note.slice(1) : [el('strong', {}, of.join(', ')), ': ', note]));
}

function caveats() {
  return section('caveats', 'Caveats', 'The limits of these numbers.',
    el('ul', { class: 'notes' },
      el('li', {}, 'Response time counts from the planned moment of a request, service time from its sending. So a stall of a server counts for every request that waited.'),
      el('li', {}, 'Times of requests are from loadgen’s monotonic clock. Times of the ledger are from the database’s clock, corrected by the measured difference.'),
      el('li', {}, 'A request without an answer lasts until loadgen gave it up.'),
      el('li', {}, `The figures hold for this machine and this load. ${areShops() ? 'Compare runs of one machine' : 'Compare strategies of one run, not runs of different machines'}.`),
      caveatRows()));
}

function section(id, title, lead, ...children) {
  return el('section', { id, class: 'part', 'aria-labelledby': `${id}-title` }, fold(el('h2', { id: `${id}-title` }, title),
    lead ? el('p', { class: 'lead' }, lead) : null, children));
}
