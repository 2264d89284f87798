// Every page and state that `assent pages` writes from its samples: zero axe violations in light and in dark, and no
// sideways scrolling at 320 pixels. With SCREENSHOTS=DIR a picture of each is kept there.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { runAssent } from '../support/assent.mjs';
import { axeViolations, contentWidth, launch } from '../support/browser.mjs';
import { serve } from '../support/http.mjs';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};
let browser;
let directory;
let site;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'assent-pages-'));
  await runAssent(['pages', '--out', directory]);
  browser = await launch();
  site = await serve(async ({ path: asked }) => {
    const file = path.join(directory, path.normalize(decodeURIComponent(asked)));
    const body = await readFile(file).catch(() => undefined);
    return body && { type: TYPES[path.extname(file)] ?? 'application/octet-stream', body };
  });
});
after(async () => {
  await browser?.close();
  await site?.stop();
  if (directory) await rm(directory, { recursive: true, force: true });
});

for (const colorScheme of ['light', 'dark']) {
  test(`every page has no axe violation in ${colorScheme} and fits 320 pixels`, { timeout: 600_000 }, async (t) => {
    const files = (await readdir(directory, { recursive: true })).filter((file) => file.endsWith('.html')).toSorted();
    assert.ok(files.length >= 10, `${files.length} pages were written`);
    const context = await browser.newContext({ locale: 'en-US', colorScheme });
    const page = await context.newPage();
    for (const file of files) {
      await t.test(`${file} in ${colorScheme}`, async () => {
        const missing = [];
        const note = (response) => response.status() >= 400 && missing.push(response.url());
        page.on('response', note);
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(`http://127.0.0.1:${site.port}/${encodeURI(file)}`, { waitUntil: 'load' });
        page.off('response', note);
        assert.deepEqual(missing.filter((url) => !url.endsWith('/favicon.ico')), [], 'its styles and images are there');
        assert.deepEqual(await axeViolations(page), []);
        await page.setViewportSize({ width: 320, height: 640 });
        const width = await contentWidth(page);
        assert.ok(width <= 320, `${width} pixels wide at 320`);
        if (process.env.SCREENSHOTS) {
          const name = `${file.replaceAll(/[^\w.-]+/g, '_')}.${colorScheme}.png`;
          await page.screenshot({ path: path.join(process.env.SCREENSHOTS, name), fullPage: true });
        }
      });
    }
    await context.close();
  });
}
