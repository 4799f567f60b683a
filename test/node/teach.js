// Plays a lesson on the class's page in a headless Chromium, by keyboard and mouse, and prints the results as JSON:
// node teach.js URL [FOLDER for pictures]
'use strict';

const path = require('path');
const { chromium } = require(path.join(__dirname, '../../build/node/node_modules/playwright-core'));
const { findPale, findClipped } = require('./page_checks.js');

const [url, pictures] = process.argv.slice(2), seen = { problems: [], requests: [], pale: {}, clipped: {}, times: {}, runInView: {} };
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
const text = (page, selector) => page.locator(selector).innerText();

async function open(browser, options) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce', ...options });
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) seen.problems.push(message.text()); });
  page.on('pageerror', (error) => seen.problems.push(String(error.stack)));
  page.on('request', (request) => seen.requests.push(request.url()));
  await page.goto(url);
  await page.locator('.chip').first().waitFor();
  return page;
}

// Waits until the run is over and its result is shown.
const ended = (page, cards) => page.waitForFunction((n) => document.getElementById('stop').disabled && document.querySelectorAll('.card').length === n &&
  document.querySelector('#comparison tr.new'), cards, { timeout: 40000 });
const picture = (page, name) => (pictures ? page.screenshot({ path: path.join(pictures, `${name}.png`) }) : null);

async function choose(page, strategies, numbers) {
  for (const chip of await page.locator('[name=strategies]:checked').all()) await chip.uncheck();
  for (const name of strategies) await page.locator(`[name=strategies][value=${name}]`).check();
  for (const [name, value] of Object.entries(numbers)) await page.locator(`#ask [name=${name}]`).fill(String(value));
}

const stage = async (page) => ({ title: await text(page, '#stage-title'), sold: await text(page, '#sold'), over: await text(page, '#over'), isBad: await page.locator('#sold-tile.bad').count() === 1,
  left: await text(page, '#left'), refused: await text(page, '#refused'), told: await page.locator('#told').textContent(), cards: await page.locator('.card').allInnerTexts() });
const rows = (page) => page.evaluate(() => [...document.querySelectorAll('#comparison tbody tr')].map((row) => [row.className, ...[...row.children].map((cell) => cell.innerText.trim())]));

// The unguarded strategy, only by keyboard: Enter in a number field runs it.
async function runNone(page) {
  await choose(page, ['none'], { requests: 1000, rate: 200, stock: 100, work_ms: 20 });
  await page.locator('#ask [name=work_ms]').press('Enter');
  const red = await page.waitForFunction(() => document.querySelector('#sold-tile.bad') && { isRunDisabled: document.querySelector('#run').disabled }, null, { timeout: 20000 });
  seen.runWhileBusy = (await red.jsonValue()).isRunDisabled; // read at that moment
  seen.red = await stage(page);
  await picture(page, 'oversold');
  await ended(page, 1);
  seen.none = { ...await stage(page), proof: await text(page, '#proof'), rows: await rows(page), links: await page.locator('#proof a').evaluateAll((all) => all.map((a) => a.getAttribute('href'))) };
}

async function runAtomic(page) {
  await choose(page, ['atomic'], {});
  await page.locator('#run').press('Space');
  await page.waitForFunction(() => document.activeElement.id === 'stop', null, { timeout: 10000 });
  await page.locator('.card.ok').waitFor({ timeout: 20000 });
  await ended(page, 1);
  await page.setViewportSize({ width: 1280, height: 720 });
  seen.verdictInView = await page.evaluate(() => window.scrollY) === 0 && await isInView(page, '.card .big');
  await page.setViewportSize({ width: 1280, height: 900 });
  seen.focus = await page.evaluate(() => document.activeElement.id);
  seen.atomic = { ...await stage(page), rows: await rows(page) };
  await picture(page, 'compared');
}

// A second tab sees the run, and its Run is refused; Stop ends it.
async function stopInMidRun(browser, page) {
  await choose(page, ['redis'], { requests: 3000, rate: 100, stock: 3000, work_ms: 2 });
  await page.locator('#run').click();
  await page.waitForFunction(() => Number(document.getElementById('sold').textContent) > 10, null, { timeout: 20000 });
  const other = await open(browser);
  await other.waitForFunction(() => document.getElementById('stage-title').textContent === 'redis', null, { timeout: 10000 });
  const token = await other.evaluate(() => sessionStorage.getItem('class-token'));
  seen.second = await (await fetch(new URL('/class/run', url), { method: 'POST', body: JSON.stringify({ strategies: ['none'], rate: 100, requests: 100, stock: 10, work_ms: 0, fault: 'none' }),
    headers: { 'Content-Type': 'application/json', 'X-Class-Token': token, Origin: new URL(url).origin } })).json();
  await other.close();
  await page.waitForFunction(() => document.getElementById('holder').textContent.includes('inventory-'), null, { timeout: 10000 });
  await page.locator('#stop').click();
  await ended(page, 1);
  await page.waitForFunction(() => document.getElementById('phase').textContent.startsWith('Stopped'), null, { timeout: 10000 });
  seen.stopped = { ...await stage(page), phase: await text(page, '#phase'), problem: await page.locator('#problem').isVisible() };
}

// Is all of it in the window, and not only of the page?
const isInView = (page, selector) => page.locator(selector).first().evaluate((node) => {
  const { top, bottom } = node.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight && bottom > top;
});
// The cells with a time, a number of lines each.
const linesOfTimes = (page) => page.evaluate(() => [...new Set([...document.querySelectorAll('#comparison tbody .time')].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size;
}))]);

const step = async (page) => ({ place: await text(page, '.steps-place'), what: await text(page, '.steps-what'), facts: await text(page, '.steps-facts'), now: await page.locator('.steps-row.now').count() });

async function explore(page) {
  await page.locator('#explore-form [name=strategy]').selectOption('redis-ttl');
  await page.locator('[name=faults][value=pause]').check();
  await page.locator('#explore-form [name=orders]').fill('2');
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.locator('#explore').click();
  await page.locator('.steps-lanes').waitFor({ timeout: 20000 });
  await page.waitForFunction(() => document.activeElement.matches('.steps-lanes'), null, { timeout: 10000 });
  seen.stepsInView = await isInView(page, '#steps .headline') && await isInView(page, '.steps-what');
  seen.steps = { head: await text(page, '#steps .headline'), bound: await text(page, '.steps-bound'), summary: await text(page, '.steps-summary'), first: await step(page) };
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft']) await page.keyboard.press(key);
  seen.steps.second = await step(page);
  await page.keyboard.press('End');
  seen.steps.last = await step(page);
  await page.keyboard.press('ArrowRight');
  seen.steps.beyond = await step(page);
  await page.locator('.steps-back').click();
  seen.steps.back = await step(page);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('ArrowLeft');
  seen.steps.anywhere = await step(page);
  await page.locator('#explore-form [name=orders]').press('ArrowLeft'); // a field's own key
  seen.steps.field = await step(page);
  seen.steps.live = await page.locator('.steps-now').getAttribute('aria-live');
  await picture(page, 'explored');
  await page.locator('#explore-form [name=strategy]').selectOption('atomic');
  await page.locator('#explore').click();
  await page.waitForFunction(() => (document.querySelector('#steps .headline') || { innerText: '' }).innerText.includes('NO VIOLATION'), null, { timeout: 20000 });
  seen.holds = await text(page, '#steps .steps-bound');
}

// Elements that can have the focus but have no name for a screen reader.
const nameless = (page) => page.evaluate(() => [...document.querySelectorAll('button, input, select, a, [tabindex]')].filter((node) => !(node.getAttribute('aria-label') ||
  node.innerText || (node.labels && node.labels.length))).map((node) => node.outerHTML));

async function look(page) {
  seen.pale.light = await page.evaluate(findPale, []);
  await page.emulateMedia({ colorScheme: 'dark' });
  seen.pale.dark = await page.evaluate(findPale, []);
  seen.nameless = await nameless(page);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    seen.clipped[width] = [await overflow(page), ...await page.evaluate(findClipped)];
    seen.times[width] = await linesOfTimes(page);
    await page.evaluate(() => window.scrollTo(0, 0));
    seen.runInView[width] = await isInView(page, '#run');
    await picture(page, `dark-${width}`);
  }
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
  const page = await open(browser);
  seen.hash = await page.evaluate(() => location.hash);
  await runNone(page);
  await runAtomic(page);
  await stopInMidRun(browser, page);
  await explore(page);
  await look(page);
  await page.reload(); // the token stays in the tab
  await page.waitForFunction(() => !document.getElementById('run').disabled, null, { timeout: 10000 });
  await browser.close();
  process.stdout.write(JSON.stringify(seen));
})().catch((error) => {
  process.stderr.write(`${error.stack}\n${JSON.stringify(seen.problems)}\n`);
  process.exit(1);
});
