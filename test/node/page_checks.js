// Rules for each page. Each function runs in the page.
'use strict';

// Texts with a contrast below 4.5 to 1 to their background, and marks below 3 to 1 (WCAG AA). Marks on a drawing are compared with the card.
function findPale(marks) {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const backOf = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const back = parse(getComputedStyle(at).backgroundColor);
      if (back.length === 3 || back[3] > 0) return back;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const named = (name) => parse(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().slice(1).replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3')
    .replace(/../g, (pair) => `${parseInt(pair, 16)} `));
  const pale = new Set(marks.filter((name) => contrast(named(name), named('card')) < 3).map((name) => `--${name}`)), walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement, style = getComputedStyle(node), isDrawn = node.namespaceURI.endsWith('svg');
    if (!text.data.trim() || !node.getClientRects().length || node.classList.contains('inside')) continue;
    const ratio = contrast(parse(isDrawn ? style.fill : style.color), backOf(node));
    if (ratio < 4.5) pale.add(`${node.getAttribute('class')}: ${text.data.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [...pale];
}

// Parts beyond the edge of the screen or of their drawing, and tables that scroll without a hint.
function findClipped() {
  const view = document.documentElement.clientWidth, clipped = [], told = (node) => `${node.tagName} ${node.getAttribute('class')}: ${node.textContent.slice(0, 40)}`;
  for (const node of document.querySelectorAll('main *')) {
    const box = node.getBoundingClientRect(), region = node.closest('.scroll'), drawing = node.closest('svg.plot-svg');
    if (!box.width || !box.height || node.closest('.sr, .skip')) continue;
    if (region && region.scrollWidth > region.clientWidth + 1) {
      const hint = region.parentElement.querySelector('.scroll-hint');
      if (node === region && !(hint && hint.getClientRects().length)) clipped.push(`no hint: ${told(region)}`);
      if (node !== region || box.right <= view + 0.5) continue;
    }
    if (box.left < -0.5 || box.right > view + 0.5) clipped.push(told(node));
    else if (drawing && node.tagName === 'text' && (box.left < drawing.getBoundingClientRect().left - 0.5 || box.right > drawing.getBoundingClientRect().right + 0.5)) clipped.push(told(node));
  }
  return clipped;
}


module.exports = { findPale, findClipped };
