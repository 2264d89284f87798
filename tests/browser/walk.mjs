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

// case 50
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

// case 48
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

// case 41
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

// case 47
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

// case 33
test('without script a reload leads back to the Brand’s login, and nothing was decided', within, async () => {
  const visitor = await visit('repost', { scope: 'orders:read', script: false });
  const { context, page } = visitor;
  const again = await page.reload();
  assert.equal(again.status(), 403);
  assert.ok(await page.locator(`a[href^="${world.shop.site.loginUrl}"]`).count());
  await refusedWith(visitor, 'authorization_pending');
  await context.close();
});

// case 43
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

/** Waits until `page` has come to rest at an address that `is` one of the expected. */
async function settled(page, is) {
  for (let quiet = 0, tries = 0; quiet < 5; tries += 1) {
    assert.ok(tries < 200, `${page.url()} is not where this ends`);
    await new Promise((done) => setTimeout(done, 50));
    const ready = await page.evaluate(() => document.readyState).catch(() => 'navigating');
    quiet = ready === 'complete' && is(new URL(page.url())) ? quiet + 1 : 0;
  }
}

for (const script of [true, false]) {
  test(`a double click on Allow has one outcome ${script ? 'with' : 'without'} script`, within, async () => {
    const visitor = await visit(`double-${script}`, { scope: 'orders:read', script });
    const { context, page, name } = visitor;
    await page.locator(ALLOW).dblclick({ noWaitAfter: true });
    // The second click ends the first one's navigation, so no single navigation is waited for.
    await settled(page, (url) => url.pathname === '/connected' || url.pathname.endsWith('/decision'));
    assert.match(await words(page), /approved|allowed/i);
    const { refresh_token } = await allowed(visitor, 'orders:read');
    assert.equal((await world.pa.refresh(world.shop, name, refresh_token)).status, 200, 'the one grant lives');
    await context.close();
  });
}

// case 43
test('after “Don’t allow”, an Allow from a second tab or by way of Back changes nothing', within, async () => {
  const visitor = await visit('deny', { scope: 'orders:read' });
  const { context, page, device } = visitor;
  const tab = await context.newPage();
  await tab.goto(consentFor(world.shop, device));
  await tab.locator(ALLOW).waitFor();

  await page.locator(DENY).click();
  const told = await returned(page);
  assert.deepEqual([told.status, told.scope], ['denied', undefined]);
  await page.goBack();
  if (await page.locator(ALLOW).isVisible()) await page.locator(ALLOW).click();
  await tab.locator(ALLOW).click();
  await tab.waitForURL((url) => url.pathname === '/connected' || url.pathname.endsWith('/decision'));
  assert.doesNotMatch(tab.url(), /status=approved/);
  await refusedWith(visitor, 'access_denied');
  await context.close();
});

// cases 48, 49
test('everything works without script', within, async () => {
  const visitor = await visit('plain', { script: false });
  const { context, page } = visitor;
  await tick(page, 'notes:read').uncheck();
  await page.locator(ALLOW).click();
  assert.equal((await returned(page)).scope, 'orders:read orders:cancel');
  await allowed(visitor, 'orders:read orders:cancel');
  await context.close();
});

// case 49
test('everything works by keyboard, and the focus is seen all the way', within, async () => {
  const visitor = await visit('keys');
  const { context, page } = visitor;
  const tabTo = async (selector) => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate((wanted) => {
        const { activeElement } = document;
        return activeElement === document.body ? 'nothing' : activeElement.matches(wanted) ? 'there' : 'elsewhere';
      }, selector);
      if (at !== 'nothing') assert.ok(await focusIsVisible(page), 'the focus shows');
      if (at === 'there') return;
    }
    assert.fail(`Tab reaches ${selector}`);
  };
  await tabTo('input[name=scope][value="orders:cancel"]');
  await page.keyboard.press('Space');
  await tabTo(ALLOW);
  await page.keyboard.press('Enter');
  assert.equal((await returned(page)).scope, 'orders:read notes:read');
  await allowed(visitor, 'orders:read notes:read');
  await context.close();
});

// case 49
test('at 320 pixels, which is 400 % zoom, nothing scrolls sideways', within, async () => {
  const { context, page } = await visit('narrow', { options: { viewport: { width: 320, height: 640 } } });
  assert.ok((await contentWidth(page)) <= 320);
  await context.close();
});

test('on a phone the question, the account, the code and both buttons fit the first screen', within, async () => {
  const options = { viewport: { width: 360, height: 640 } };
  const { context, page, device } = await visit('phone', { scope: 'orders:read orders:cancel', options });
  for (const shown of [
    page.getByText(world.pa.name).first(),
    page.getByText('jane-phone@example.com').first(),
    page.getByText(device.user_code).first(),
    page.locator(ALLOW),
    page.locator(DENY),
  ]) {
    const { y, height } = await shown.boundingBox();
    assert.ok(y >= 0 && y + height <= 640, `${await shown.innerText()} ends at ${y + height}`);
  }
  await context.close();
});

// case 50
test('a further request of the same agent needs no new sign-in and shows what it already may do', within, async () => {
  const first = await visit('further', { scope: 'orders:read' });
  const { context, page } = first;
  await page.locator(ALLOW).click();
  await returned(page);
  await allowed(first, 'orders:read');

  const device = await world.pa.ask(world.shop, 'further', 'orders:cancel');
  await page.goto(consentFor(world.shop, device));
  assert.ok(await tick(page, 'orders:read').isChecked(), 'already allowed, ticked, and can be unticked');
  assert.ok(await tick(page, 'orders:cancel').isChecked());
  await page.locator(ALLOW).click();
  assert.equal((await returned(page)).scope, 'orders:read orders:cancel');
  await allowed({ tokens: () => world.pa.poll(world.shop, 'further', device.device_code) }, 'orders:read orders:cancel');
  await context.close();
});

// case 47
test('somebody else’s link opened with a live session leads to the Brand’s login', within, async () => {
  const { context, page } = await visit('victim', { scope: 'orders:read' });
  const device = await world.pa.ask(world.shop, 'attacker', 'orders:read');
  await page.goto(consentFor(world.shop, device));
  assert.ok(page.url().startsWith(world.shop.site.loginUrl), page.url());
  await refusedWith({ tokens: () => world.pa.poll(world.shop, 'attacker', device.device_code) }, 'authorization_pending');
  await context.close();
});

test('the page warns when the agent already acts for another person on this account', within, async () => {
  const [one, other] = await Promise.all(['one', 'other'].map((sub) => world.pa.ask(world.shop, sub, 'orders:read')));
  const { context, page } = await newVisitor(browser);
  await signIn(page, world.shop, one, 'jane-shared');
  assert.doesNotMatch(await words(page), /already acts/i);
  await page.locator(ALLOW).click();
  await returned(page);
  await signIn(page, world.shop, other, 'jane-shared');
  assert.match(await words(page), /already acts/i);
  await context.close();
});

// case 41
test('no page shows itself in a frame of another site', within, async () => {
  const device = await world.pa.ask(world.shop, 'framed', 'orders:read');
  const post = (target, assertion) =>
    `<iframe name="${target}"></iframe><form method="post" target="${target}" action="${html(world.shop.consentUrl)}">` +
    `<input name="assertion" value="${html(assertion)}"></form>`;
  const body =
    post('consent', await world.shop.site.assertion('jane-framed', device.user_code)) +
    post('error', 'not an assertion') +
    `<iframe name="code" src="${html(world.shop.consentUrl)}"></iframe>` +
    `<iframe name="ordinary" src="${html(world.shop.site.connectedUrl)}"></iframe>` +
    `<script>for (const form of document.forms) form.submit()</script>`;
  const attacker = await serve(({ path }) => (path === '/' ? { body } : undefined));
  const { context, page } = await newVisitor(browser);
  try {
    await page.goto(`http://evil.localhost:${attacker.port}/`);
    await page.waitForLoadState('networkidle');
    const ordinary = page.frame({ name: 'ordinary' });
    assert.match(await ordinary.locator('body').innerText(), /Connected/, 'a page that allows it is framed');
    for (const name of ['consent', 'error', 'code']) {
      assert.equal(page.frame({ name }).url(), 'chrome-error://chromewebdata/', name);
    }
  } finally {
    await context.close();
    await attacker.stop();
  }
});

test('without a page of the Brand to return to, the walk ends on a page here that can be reloaded', within, async () => {
  const visitor = await visit('revoke', { brand: world.club, scope: 'orders:read' });
  const { context, page } = visitor;
  await page.locator(ALLOW).click();
  await page.getByText(/go back to your agent/i).first().waitFor();
  assert.ok(new URL(page.url()).pathname.endsWith('/consent/decision'), page.url());
  await page.reload();
  const closing = await words(page);
  for (const text of [world.pa.name, SCOPES[0].description]) assert.ok(closing.includes(text), closing);
  await allowed(visitor, 'orders:read');
  await context.close();
});

// case 46
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
