// A User's way in Chromium, with the personal agent, the Brand and Assent on sites of their own: link, the Brand's login,
// consent, decision, and back; with and without script, by keyboard, on a small screen, and against somebody's tricks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeViolations, contentWidth, focusIsVisible, launch, newVisitor } from '../support/browser.mjs';
import { html, serve } from '../support/http.mjs';
import { SCOPES, startWorld } from '../support/world.mjs';

const ALLOW = '[name=decision][value=allow]';
const DENY = '[name=decision][value=deny]';
const everything = SCOPES.map(({ id }) => id).join(' ');
const within = { timeout: 60_000 };
let world;
let browser;

before(async () => {
  world = await startWorld();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

const tick = (page, scope) => page.locator(`input[type=checkbox][name=scope][value="${scope}"]`);
const words = (page) => page.locator('body').innerText();
const atConsent = (brand) => (url) => url.href.startsWith(brand.consentUrl);
const consentFor = (brand, device) => `${brand.consentUrl}?user_code=${device.user_code}`;

/** Follows the link of `device` to the Brand's login, signs in as `user`, and stops at the consent page. */
async function signIn(page, brand, device, user, { script = true } = {}) {
  await page.goto(device.verification_uri_complete);
  await page.getByLabel('Account').fill(user);
  await page.getByRole('button', { name: 'Sign in' }).click();
  if (!script) await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(atConsent(brand));
  await page.locator(ALLOW).waitFor();
}

/** A visitor with the consent page of a new device authorization open. Each has a PA `sub` and a Brand user of its own. */
async function visit(name, { brand = world.shop, scope = everything, script = true, options } = {}) {
  const device = await world.pa.ask(brand, name, scope);
  const visitor = await newVisitor(browser, { javaScriptEnabled: script, ...options });
  await signIn(visitor.page, brand, device, `jane-${name}`, { script });
  return { ...visitor, device, brand, name, tokens: () => world.pa.poll(brand, name, device.device_code) };
}

async function allowed({ tokens }, scope) {
  const { status, body } = await tokens();
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.scope, scope);
  return body;
}

async function refusedWith({ tokens }, error) {
  const { status, body } = await tokens();
  assert.deepEqual([status, body.error], [400, error]);
}

/** Waits for the Brand's page and answers what it was told. */
async function returned(page, brand = world.shop) {
  await page.waitForURL((url) => url.href.startsWith(brand.site.connectedUrl));
  return Object.fromEntries(new URL(page.url()).searchParams);
}

test('the consent page says who asks for what, from whom and as whom, word for word', within, async () => {
  const { context, page, device } = await visit('words');
  const shown = await words(page);
  for (const text of [
    world.pa.name,
    new URL(world.pa.issuer).origin,
    world.shop.name,
    'jane-words@example.com',
    device.user_code,
    ...SCOPES.map(({ description }) => description),
    SCOPES[0].detail,
  ]) {
    assert.ok(shown.includes(text), `“${text}” stands in:\n${shown}`);
  }
  assert.match(shown, /did not start this/i);
  assert.equal(await page.locator('form b').filter({ hasText: 'private' }).count(), 0, 'a description is not markup');
  for (const { id } of SCOPES) assert.ok(await tick(page, id).isChecked(), `${id} starts ticked`);
  assert.ok(await page.locator(`a[href^="${world.shop.site.loginUrl}"]`).count(), '“Not you?” leads to the Brand’s login');
  assert.deepEqual(await axeViolations(page), []);
  await context.close();
});

test('what the User unticks is not granted, and the browser comes back to the Brand', within, async () => {
  const visitor = await visit('untick');
  const { context, page, violations } = visitor;
  await tick(page, 'orders:cancel').uncheck();
  await page.locator(ALLOW).click();
  assert.deepEqual(await returned(page), {
    client: world.pa.issuer,
    status: 'approved',
    scope: 'orders:read notes:read',
  });
  await allowed(visitor, 'orders:read notes:read');
  assert.deepEqual(violations, [], 'the page’s own form-action lets the redirect through');
  await context.close();
});

test('the page’s policy names the forms’ targets and forbids frames, foreign code and storing', within, async () => {
  const device = await world.pa.ask(world.shop, 'policy', 'orders:read');
  const response = await fetch(world.shop.consentUrl, {
    method: 'POST',
    body: new URLSearchParams({ assertion: await world.shop.site.assertion('jane-policy', device.user_code) }),
  });
  assert.equal(response.status, 200);
  const policy = response.headers.get('content-security-policy');
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /form-action [^;]*/);
  assert.ok(policy.match(/form-action ([^;]*)/)[1].includes(new URL(world.shop.site.connectedUrl).origin), policy);
  assert.doesNotMatch(policy, /unsafe-(inline|eval)/);
  assert.match(response.headers.get('cache-control'), /no-store/);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.match(response.headers.get('referrer-policy'), /^(no-referrer|same-origin)$/);
});

test('the session cookie is out of reach of scripts and of other sites, and short-lived', within, async () => {
  const { context } = await visit('cookie');
  const cookies = await context.cookies(world.shop.consentUrl);
  assert.equal(cookies.length, 1);
  const [cookie] = cookies;
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Lax', '/']);
  assert.ok(cookie.name.includes(world.shop.id));
  const life = cookie.expires - Date.now() / 1000;
  assert.ok(life <= 15 * 60 + 5, `lives ${life} s (-1 is the browser’s session)`);
  assert.deepEqual(await context.cookies(world.provider), [], 'nothing is set on another host');
  await context.close();
});

test('everything comes from one origin and is small', within, async () => {
  const device = await world.pa.ask(world.shop, 'weight', 'orders:read');
  const { context, page } = await newVisitor(browser);
  const responses = [];
  page.on('response', (response) => responses.push(response));
  await signIn(page, world.shop, device, 'jane-weight');
  await page.waitForLoadState('networkidle');
  const ours = responses.filter((response) => !response.url().startsWith(world.shop.site.issuer));
  let bytes = 0;
  for (const response of ours) {
    assert.ok(response.url().startsWith(world.shop.issuer), `${response.url()} is of the authorization server`);
    bytes += (await response.body()).length;
  }
  assert.ok(ours.length > 0 && bytes < 40_000, `${bytes} bytes`);
  await context.close();
});

test('a reload shows the consent page again, and it still decides', within, async () => {
  const visitor = await visit('reload', { scope: 'orders:read' });
  const { context, page, device } = visitor;
  await page.waitForURL(/user_code=/);
  await page.reload();
  assert.ok((await words(page)).includes(device.user_code));
  await page.locator(ALLOW).click();
  assert.equal((await returned(page)).status, 'approved');
  await allowed(visitor, 'orders:read');
  await context.close();
});

test('without script a reload leads back to the Brand’s login, and nothing was decided', within, async () => {
  const visitor = await visit('repost', { scope: 'orders:read', script: false });
  const { context, page } = visitor;
  const again = await page.reload();
  assert.equal(again.status(), 403);
  assert.ok(await page.locator(`a[href^="${world.shop.site.loginUrl}"]`).count());
  await refusedWith(visitor, 'authorization_pending');
  await context.close();
});

test('back after the decision does not undo it', within, async () => {
  const visitor = await visit('back', { scope: 'orders:read' });
  const { context, page } = visitor;
  await page.locator(ALLOW).click();
  await returned(page);
  await page.goBack();
  if (await page.locator(DENY).isVisible()) await page.locator(DENY).click();
  await page.waitForLoadState();
  await allowed(visitor, 'orders:read');
  await context.close();
});

for (const script of [true, false]) {
  test(`a double click on Allow has one outcome ${script ? 'with' : 'without'} script`, within, async () => {
    const visitor = await visit(`double-${script}`, { scope: 'orders:read', script });
    const { context, page, name } = visitor;
    await page.locator(ALLOW).dblclick({ noWaitAfter: true });
    await page.waitForURL((url) => url.pathname === '/connected' || url.pathname.endsWith('/decision'));
    assert.match(await words(page), /approved|allowed/i);
    assert.ok(new URL(page.url()).pathname.endsWith('/consent/decision'), page.url());
  await page.reload();
  const closing = await words(page);
  for (const text of [world.pa.name, SCOPES[0].description]) assert.ok(closing.includes(text), closing);
  await allowed(visitor, 'orders:read');
  await context.close();
});

test('looking at a link, as previews do, changes nothing', within, async () => {
  const device = await world.pa.ask(world.shop, 'preview', 'orders:read');
  for (const method of ['GET', 'HEAD']) {
    for (const url of [device.verification_uri_complete, consentFor(world.shop, device)]) {
      const response = await fetch(url, { method, redirect: 'manual' });
      await response.text();
      assert.ok(response.status < 500, `${method} ${url}: ${response.status}`);
    }
  }
  await refusedWith({ tokens: () => world.pa.poll(world.shop, 'preview', device.device_code) }, 'authorization_pending');
});
