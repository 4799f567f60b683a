// Opens report pages in a headless Chromium and prints their content as JSON: node open_page.js PAGE...
'use strict';

const path = require('path');
const { chromium } = require(path.join(__dirname, '../../build/node/node_modules/playwright-core'));
const { findPale, findClipped } = require('./page_checks.js');

const SECTIONS = ['anomalies', 'measurements', 'tradeoff', 'strategy', 'caveats', 'capacity', 'grid', 'comparison', 'chart-work', 'chart-tradeoff',
  'chart-stock', 'chart-outcomes', 'chart-latency', 'chart-percentiles', 'lanes-1'];

const MARKS = ['sold', 'sold-out', 'busy', 'other', 'failed', 'unreached', 'unsent', 'unknown-mark', 'wait', 'hold', 'commit', 'a', 'b', 'c'];

async function open(browser, file, options) {
  const page = await browser.newPage(options), seen = { problems: [], requests: [] };
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) seen.problems.push(message.text()); });
  page.on('pageerror', (error) => seen.problems.push(String(error.stack)));
  page.on('dialog', (dialog) => { seen.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith('data:')) seen.requests.push(request.url()); });
  await page.goto(`file://${path.resolve(file)}`);
  await page.waitForSelector('footer');
  return { page, seen };
}

// Each part is drawn once its size is known.
const drawn = (page) => page.waitForFunction(() => [...document.querySelectorAll('.plot')].every((plot) =>
  plot.closest('details:not([open])') || plot.querySelector('svg')), null, { timeout: 10000 });

function readRows() {
  return [...document.querySelectorAll('#comparison tbody tr')].map((row) => {
    const cells = { entry: row.dataset.entry, name: row.querySelector('th').innerText, verdict: row.querySelector('.badge').innerText };
    for (const cell of row.querySelectorAll('[data-key]')) cells[cell.dataset.key] = cell.innerText;
    return cells;
  });
}

const readGrid = () => [...document.querySelectorAll('#grid tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText.trim()));
const tip = (page) => page.locator('#tip').evaluate((box) => (box.hidden ? '' : box.innerText));

// The effects of scrolling are done by the second frame.
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function hover(page, id) {
  const chart = page.locator(`#${id} svg.plot-svg`);
  await chart.scrollIntoViewIfNeeded();
  await settled(page);
  const point = await chart.locator('rect, path').evaluateAll((all) => {
    const dots = all.filter((mark) => mark.classList.contains('dot')), marks = dots.length ? dots : all;
    const box = marks.map((mark) => mark.getBoundingClientRect()).filter((mark) => mark.width > 0 && mark.height > 0).pop();
    return box && [box.left + box.width / 2, box.top + box.height / 2];
  });
  await page.mouse.move(...point);
  const text = await tip(page);
  await page.mouse.move(0, 0);
  return text;
}

async function walk(page, id) {
  const chart = page.locator(`#${id} svg.plot-svg`), texts = [];
  await chart.focus();
  await settled(page);
  for (const key of ['Home', 'ArrowRight', 'End', 'Escape']) {
    await page.keyboard.press(key);
    texts.push(await tip(page));
  }
  return texts;
}

async function walkTabs(page) {
  const tabs = [];
  await page.locator('[role=tab][aria-selected=true]').focus();
  const count = await page.locator('[role=tab]').count();
  for (let i = 0; i < Math.min(count, 4); i++) {
    await drawn(page);
    tabs.push(await page.evaluate(() => ({ hash: location.hash, tab: document.activeElement.innerText.trim(),
      selected: document.activeElement.getAttribute('aria-selected'), shown: document.querySelector('.strategy-name').innerText, text: document.getElementById('panel').innerText,
      charts: [...document.querySelectorAll('#panel .plot svg')].length })));
    await page.keyboard.press('ArrowRight');
  }
  return tabs;
}

const readHeadings = () => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter((node) => node.getClientRects().length).map((node) => Number(node.tagName[1]));
const countHeadless = () => [...document.querySelectorAll('table')].filter((table) => !table.querySelector('thead th[scope=col]') ||
  table.querySelector('th:not([scope])')).length;
const readOutcomes = () => [...document.querySelectorAll('#outcomes tbody tr')].map((row) =>
  Object.fromEntries([...row.querySelectorAll('[data-key]')].map((cell) => [cell.dataset.key, cell.innerText.trim()])));
const readCards = () => [...document.querySelectorAll('.card')].map((card) => card.innerText);
const readTicks = (id) => [...document.querySelectorAll(`#${id} .tick[text-anchor=middle]`)].map((tick) => Number(tick.textContent));
const scrolls = () => [...document.querySelectorAll('.scroll')].filter((region) => region.scrollWidth > region.clientWidth + 1 && !region.closest('details.data')).map((region) => region.getAttribute('aria-label'));
const readSteps = () => [...document.querySelectorAll('table.steps tbody tr')].map((row) => ({ name: row.querySelector('th').innerText,
  bars: [...row.querySelectorAll('.bar')].map((bar) => bar.getBoundingClientRect().width),
  ...Object.fromEntries([...row.querySelectorAll('[data-step]')].map((cell) => [cell.dataset.step, cell.innerText])) }));
const readThresholds = () => [...document.querySelectorAll('#thresholds tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText.trim()));

const colours = (page) => page.evaluate(() => ({ back: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color }));
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

// The page on a phone: as it first appears, and with all of its parts open.
async function unfold(browser, file) {
  const { page } = await open(browser, file, { viewport: { width: 390, height: 800 }, reducedMotion: 'reduce' });
  const height = () => page.evaluate(() => document.documentElement.scrollHeight), folded = await height();
  const closed = await page.locator('details.fold:not([open])').count();
  await page.locator('details.fold').evaluateAll((all) => all.forEach((part) => { part.open = true; }));
  await drawn(page);
  await settled(page);
  const found = { folded, closed, unfolded: await height() };
  await page.close();
  return found;
}

async function look(browser, file) {
  const { page, seen } = await open(browser, file, { viewport: { width: 1280, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce' });
  await drawn(page);
  const found = { ...seen, sections: {}, hover: {}, keys: {}, title: await page.title(), rows: await page.evaluate(readRows),
    grid: await page.evaluate(readGrid), outcomes: await page.evaluate(readOutcomes), cards: await page.evaluate(readCards),
    planned: { ticks: await page.evaluate(readTicks, 'chart-latency'), last: await page.evaluate(() => Math.max(0, ...JSON.parse(document.getElementById('charts').textContent).flat().slice(0, 1).map((chart) => chart && chart.planned_us / 1e6))) },
    anomalies: await page.evaluate(() => JSON.parse((document.getElementById('anomaly-list') || { textContent: '[]' }).textContent)), meanings: await page.evaluate(() => (document.getElementById('meanings') || { innerText: '' }).innerText),
    steps: await page.evaluate(readSteps), recommendations: await page.locator('.recommendation').allInnerTexts(), thresholds: await page.evaluate(readThresholds), pale: { light: await page.evaluate(findPale, MARKS) }, light: await colours(page), overflow: { 1280: await overflow(page) },
    text: await page.locator('main').innerText(), drawn: await page.locator('.lane-label').allTextContents(), summaries: await page.evaluate(() => JSON.parse(document.getElementById('summaries').textContent)),
    images: await page.locator('main img').count(), unlabelled: await page.locator('svg.plot-svg:not([aria-label])').count() };
  for (const id of SECTIONS) found.sections[id] = await page.locator(`#${id}`).count();
  for (const id of SECTIONS.filter((name) => /^(chart|lanes)-/.test(name) && found.sections[name])) {
    found.hover[id] = await hover(page, id);
    found.keys[id] = await walk(page, id);
  }
  await page.locator('details.more').evaluateAll((all) => all.forEach((details) => { details.open = true; }));
  await drawn(page);
  await page.locator('details.data').evaluateAll((all) => all.forEach((details) => { details.open = true; }));
  await settled(page);
  found.table = await page.locator('details.data tbody tr').count();
  found.headings = await page.evaluate(readHeadings);
  found.headless = await page.evaluate(countHeadless);
  found.tabs = await page.locator('[role=tab]').count() ? await walkTabs(page) : [];
  await page.emulateMedia({ colorScheme: 'dark' });
  found.dark = await colours(page);
  found.pale.dark = await page.evaluate(findPale, MARKS);
  await page.setViewportSize({ width: 390, height: 800 });
  await drawn(page);
  await settled(page);
  found.overflow[390] = await overflow(page);
  found.clipped = await page.evaluate(findClipped);
  found.scrolls = await page.evaluate(scrolls);
  await page.close();
  found.phone = await unfold(browser, file);
  return found;
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
  const found = [];
  for (const file of process.argv.slice(2)) found.push(await look(browser, file));
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
