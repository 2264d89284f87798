// Chromium as Debian ships it, and what the tests look at in a page.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

/** Starts Chromium: `CHROMIUM`, or Debian's. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  assert.ok(existsSync(executablePath), `${executablePath} exists (Debian's package is called chromium)`);
  // Chromium's sandbox refuses to run as root, which is what CI is. The pages are our own.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A browser of its own: no cookies, English, and a list of what the pages' own policies forbade. */
export async function newVisitor(browser, options = {}) {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  context.setDefaultTimeout(10_000);
  const violations = [];
  context.on('console', (message) => {
    if (/content security policy/i.test(message.text())) violations.push(message.text());
  });
  return { context, page: await context.newPage(), violations };
}

/** The widest thing on the page, in CSS pixels. */
export const contentWidth = (page) => page.evaluate(() => document.documentElement.scrollWidth);

/** axe's findings on `page`, one line each. Evaluated from outside, so the page's policy stays as it is. */
export async function axeViolations(page) {
  await page.evaluate(axe.source);
  // target-size (WCAG 2.2 AA) is off unless it is asked for.
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }),
  );
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(' | ')}`);
}

/** Whether the element with the focus shows it. */
export const focusIsVisible = (page) =>
  page.evaluate(() => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
    return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
  });
