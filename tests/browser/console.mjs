// The administrators' console in Chromium: an agent platform that is compromised is cut off in three clicks and one typed
// number, and every page works by keyboard, for those who do not see it, in light and dark, on a small screen, and without
// script.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { axeViolations, contentWidth, focusIsVisible, launch, newVisitor } from '../support/browser.mjs';
import { startWorld } from '../support/world.mjs';

const PASSWORD = 'correct horse battery staple';
const GRANTS = 1200;
const within = { timeout: 300_000 };
let world;
let browser;

/** The User's part without pages of a login: one grant of `brand`, for `sub` by `user`. */
async function allow(brand, sub, user) {
  const device = await world.pa.ask(brand, sub, 'orders:read');
  const form = (fields) => ({ method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
  const signedIn = await fetch(brand.consentUrl, form({ assertion: await brand.site.assertion(user, device.user_code) }));
  const page = await signedIn.text();
  const session = page.match(/name="session" value="([^"]+)"/)?.[1];
  assert.ok(session, page);
  const decided = await fetch(`${brand.consentUrl}/decision`, form({ session, decision: 'allow', scope: 'orders:read' }));
  await decided.text();
  assert.ok([200, 303].includes(decided.status), `${decided.status}`);
  return device;
}

/** Every grant that the personal agent has: real ones, made in parallel, of which those named are collected. */
async function makeGrants() {
  const brands = [world.shop, world.club, world.lounge];
  const wanted = Array.from({ length: GRANTS }, (_, n) => n);
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let n = wanted.shift(); n !== undefined; n = wanted.shift()) {
        await allow(brands[n % brands.length], `sub-${n}`, `user-${n}`);
      }
    }),
  );
}

async function tokens(brand, sub, user) {
  const { device_code } = await allow(brand, sub, user);
  const { status, body } = await world.pa.poll(brand, sub, device_code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function send(brand, sub, token) {
  const response = await fetch(`${brand.interfaceUrl}/message:send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await world.pa.jwt(sub)}`,
      'x-a2a-user-delegation': `Bearer ${token}`,
      'content-type': 'application/a2a+json',
    },
    body: JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hello' }] } }),
  });
  await response.text();
  return response;
}

async function logIn(options = {}) {
  const visitor = await newVisitor(browser, options);
  const { page } = visitor;
  await page.goto(world.admin);
  await page.getByLabel('Name').fill('anna');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/log-in'));
  return visitor;
}

const words = (page) => page.locator('body').innerText();
const spaced = (text) => text.replaceAll(/\s+/g, ' ');

before(async () => {
  world = await startWorld({
    hasLounge: true,
    // Everybody here comes from one address.
    sections: '[limits]\npage_per_second = 100000\npage_burst = 100000\naddress_per_second = 100000\naddress_burst = 100000\n',
  });
  const password = path.join(world.assent.directory, 'password');
  await writeFile(password, `${PASSWORD}\n`);
  await world.assent.run('admin', 'create', '--name', 'anna', '--role', 'owner', '--password-file', password);
  await makeGrants();
  const { access_token } = await tokens(world.shop, 'early', 'early');
  await send(world.shop, 'early', access_token);
  await world.assent.run('resource-server-key', 'create', '--brand', world.shop.id, '--name', 'account API');
  await world.assent.run('admin', 'key', 'create', '--name', 'deploy', '--role', 'operator', '--days', '30');
  browser = await launch();
}, { timeout: 300_000 });
after(async () => {
  await browser?.close();
  await world?.stop();
});

/** Every page that the console's table of routes has, as a pattern of its path; downloads are none. */
async function routes() {
  const table = await readFile(new URL('../../src/web/routes.rs', import.meta.url), 'utf8');
  const rows = [...table.matchAll(/Row::at\("([^"]+)", Budget::Console\)\s*(\.get\()?/g)];
  const paths = rows.filter(([, , isPage]) => isPage).map(([, path]) => path);
  const others = /\.csv$|\/evidence$|^\/log-in/;
  return paths.filter((path) => !others.test(path)).map((path) => new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`));
}

let crawled;
/** A page for each route, as somebody finds them who begins at the first one and follows links. */
async function everyRoute() {
  crawled ??= (async () => {
    const missing = await routes();
    assert.ok(missing.length > 30, `${missing.length} pages`);
    const { context, page } = await logIn();
    const [found, seen, next] = [[], new Set(['/']), ['/']];
    while (next.length > 0 && missing.length > 0) {
      const address = next.shift();
      const at = missing.findIndex((route) => route.test(address.split('?')[0]));
      // What is like a page that was looked at leads nowhere new, but for keys, of which not each can do everything.
      if (at < 0 && !/^\/(keys|brands|audit|administrators)\//.test(address)) continue;
      if (at >= 0) {
        found.push(address);
        missing.splice(at, 1);
      }
      const response = await page.goto(world.admin + address);
      assert.ok(response.ok(), `${address}: ${response.status()}`);
      const links = await page.evaluate(() => [...document.querySelectorAll('a[href^="/"]')].map((a) => a.getAttribute('href')));
      for (const link of links.filter((link) => !/\.csv|\/evidence|^\/static/.test(link) && !seen.has(link))) {
        seen.add(link);
        next.push(link);
      }
    }
    await context.close();
    assert.deepEqual(missing.map(String).filter((route) => !route.includes('search')), [], 'pages to which no link leads');
    return found;
  })();
  return crawled;
}

// Before anything is revoked: there is something on each page.
const pages = async () => {
  const grant = await someGrant();
  return [
    ...(await everyRoute()),
    '/grants',
    `/grants?personal_agent=${encodeURIComponent(world.pa.issuer)}&state=live&sort=expires`,
    '/grants?user=nobody',
    '/grants?state=unknown',
    `/grants/${grant}`,
    '/grants/revoke',
    '/personal-agents',
    `/personal-agents/one?issuer=${encodeURIComponent(world.pa.issuer)}`,
    '/personal-agents/register',
    '/search?q=user',
    '/account',
    '/grants/a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAZ',
  ];
};

async function someGrant() {
  const stdout = await world.assent.run('grant', 'list', '--limit', '1', '--json');
  return JSON.parse(stdout.split('\n')[0]).grantId;
}

for (const colorScheme of ['light', 'dark']) {
  test(`every page has no axe violation in ${colorScheme} and fits 320 pixels`, within, async () => {
    const { context, page, violations } = await logIn({ colorScheme });
    for (const address of await pages()) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(world.admin + address);
      assert.deepEqual(await axeViolations(page), [], address);
      await page.setViewportSize({ width: 320, height: 640 });
      const width = await contentWidth(page);
      assert.ok(width <= 320, `${address} is ${width} pixels wide at 320`);
    }
    assert.deepEqual(violations, []);
    await context.close();
  });
}

test('Tab reaches every link, field and button, and shows where it is', within, async () => {
  const { context, page } = await logIn();
  for (const address of await pages()) {
    await page.goto(world.admin + address);
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]')];
      // Of buttons of which one is chosen Tab reaches one, and arrows the others.
      const ofGroup = ({ form, name }) => [...form.elements].filter((other) => other.type === 'radio' && other.name === name);
      const isStop = (one) => one.type !== 'radio' || one === (ofGroup(one).find((other) => other.checked) ?? ofGroup(one)[0]);
      const shown = all.filter((one) => one.checkVisibility() && isStop(one));
      shown.forEach((one, number) => (one.dataset.stop = String(number)));
      return shown.length;
    });
    const reached = new Set();
    // A field for date and time is several stops.
    for (let presses = 0; presses < wanted + 40 && reached.size < wanted; presses += 1) {
      await page.keyboard.press('Tab');
      const stop = await page.evaluate(() => document.activeElement.dataset.stop);
      if (stop === undefined) continue;
      if (!reached.has(stop)) assert.ok(await focusIsVisible(page), `${address}: stop ${stop} shows its focus`);
      reached.add(stop);
    }
    assert.equal(reached.size, wanted, `${address}: all of ${wanted}`);
  }
  // The first stop leads past the navigation.
  await page.goto(`${world.admin}/grants`);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(new URL(page.url()).hash, '#content');
  await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(() => document.querySelector('main').contains(document.activeElement)));
  await context.close();
});

test('instants are local, with UTC beside them, and an id is copied with one press', within, async () => {
  const { context, page } = await logIn({
    timezoneId: 'Asia/Kolkata',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.goto(`${world.admin}/grants`);
  const time = page.locator('td time').first();
  const at = new Date(await time.getAttribute('datetime'));
  const local = new Date(at.getTime() + 5.5 * 3_600_000).toISOString().slice(0, 16).replace('T', ' ');
  assert.equal(await time.innerText(), local);
  assert.equal(await time.getAttribute('title'), at.toISOString().replace('T', ' ').replace('.000Z', ' UTC'));
  const id = await page.locator('td .id').first().innerText();
  await page.getByRole('button', { name: `Copy ${id}` }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), id);
  await context.close();
});

test('without script a list is narrowed, ordered and paged, and a grant is revoked', within, async () => {
  const { context, page } = await logIn({ javaScriptEnabled: false });
  await page.goto(`${world.admin}/grants`);
  await page.getByLabel('Brand').selectOption({ label: world.club.name });
  await page.getByLabel('State').selectOption('live');
  await page.getByRole('button', { name: 'Narrow' }).click();
  assert.match(spaced(await words(page)), /400 grants of 1 Brand/);
  assert.equal(await page.getByLabel('State').inputValue(), 'live');
  await page.getByRole('link', { name: 'Created' }).click();
  await page.getByRole('link', { name: 'Next page' }).click();
  assert.equal(await page.locator('[aria-sort=ascending]').innerText(), 'Created');
  const { searchParams } = new URL(page.url());
  assert.deepEqual([...searchParams.keys()].toSorted(), ['brand', 'cursor', 'order', 'state']);
  await page.locator('td a').first().click();
  assert.match(await words(page), /UTC/);
  const revoke = page.getByRole('button', { name: 'Yes, revoke it' });
  assert.ok(!(await revoke.isVisible()));
  await page.getByText('Revoke this grant').click();
  await revoke.click();
  assert.match(await words(page), /It has ended, on every node/);
  assert.match(await words(page), /administrator anna/);
  await context.close();
});

test('a compromised personal agent is cut off in three clicks and one typed number', within, async () => {
  const brands = [world.shop, world.club, world.lounge];
  const held = await tokens(world.shop, 'holder', 'holder');
  const uncollected = await allow(world.club, 'waiting', 'waiting');
  assert.equal((await send(world.shop, 'holder', held.access_token)).status, 200);
  const { context, page, violations } = await logIn();
  let clicks = 0;
  const click = async (target) => {
    clicks += 1;
    await target.click();
  };

  await page.goto(world.admin);
  await page.getByRole('searchbox').fill('Demo');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: world.pa.name }).waitFor();
  await click(page.getByRole('button', { name: 'Disable' }));
  await page.getByText('It is disabled').waitFor();
  // What the tests before this one revoked is no longer there.
  const shown = spaced(await words(page)).match(/([\d ]+) grants of 3 Brands/)[1].trim();
  const count = Number(shown.replaceAll(' ', ''));
  assert.equal(count, GRANTS + 3 - 1);
  for (const { name } of brands) assert.ok((await words(page)).includes(name), name);
  await page.getByLabel(/^Type .* to revoke them$/).fill(String(count));
  await click(page.getByRole('button', { name: /^Revoke/ }));
  await page.getByText('It is done, at 3 Brands and on every node').waitFor({ timeout: 60_000 });
  assert.match(spaced(await words(page)), new RegExp(`${shown} grants have ended`));
  const rowsOfIt = page.getByRole('link', { name: 'Their audit rows' });
  const audit = new URL(await rowsOfIt.getAttribute('href'), world.admin);
  await click(rowsOfIt);
  assert.equal(clicks, 3);
  assert.equal(audit.pathname, '/audit');
  const stdout = await world.assent.run('audit', 'list', '--request', audit.searchParams.get('request'), '--limit', '5000', '--json');
  const rows = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(rows.length, count);
  assert.ok(rows.every((row) => row.action === 'grant_ended' && row.actor.name === 'anna'));
  assert.deepEqual(violations, []);

  // While it is disabled nothing is answered; once it may call again, its grants are still over.
  assert.equal((await send(world.shop, 'holder', held.access_token)).status, 401);
  await world.assent.run('personal-agent', 'enable', world.pa.issuer);
  const deadline = Date.now() + 10_000;
  let refused;
  do {
    await new Promise((done) => setTimeout(done, 200));
    refused = await send(world.shop, 'holder', held.access_token);
  } while (!/invalid_token/.test(refused.headers.get('www-authenticate')) && Date.now() < deadline);
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get('www-authenticate'), /error="invalid_token"/);
  assert.equal((await world.pa.refresh(world.shop, 'holder', held.refresh_token)).body.error, 'invalid_grant');
  assert.equal((await world.pa.poll(world.club, 'waiting', uncollected.device_code)).body.error, 'invalid_grant');
  await world.assent.run('audit', 'verify');
  await context.close();
});
