// Breaks a strategy on the page of `lab explore --choices --page FILE`, and prints the seen texts as JSON.
// Usage: node test/node/choose.js FILE MOVE...    A move is a button's number, "hint", "back" or "again".
'use strict';

const path = require('path');
const { chromium } = require(path.join(__dirname, '../../build/node/node_modules/playwright-core'));
const { findPale } = require('./page_checks.js');

const seen = { problems: [], shown: [] };
const BUTTONS = { back: '◀ Back', hint: 'Hint', again: 'Begin again' };

async function look(page) {
  seen.shown.push({ now: await page.locator('.choose-now').innerText(), moves: await page.locator('.choose-moves > button').allInnerTexts(),
    taken: await page.locator('.choose-taken li').count(), focus: await page.evaluate(() => document.activeElement.tagName) });
}

(async () => {
  const [file, ...moves] = process.argv.slice(2), browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
  for (const name of ['pageerror', 'console']) page.on(name, (what) => seen.problems.push(String(what.text ? what.text() : what)));
  await page.goto(`file://${file}`);
  await page.locator('.steps-choose summary').click();
  seen.bound = await page.locator('.choose-bound').innerText();
  await look(page);
  for (const move of moves) {
    await page.locator(/^\d+$/.test(move) ? `.choose-moves > button:nth-child(${move})` : `.choose-moves button:text("${BUTTONS[move]}")`).click();
    await look(page);
  }
  seen.pale = await page.evaluate(findPale, []);
  seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  console.log(JSON.stringify(seen));
  await browser.close();
})();
