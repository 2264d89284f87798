// The User's own list of grants in Chromium: from the Brand's login, with and without script, by keyboard, on a small
// screen; and that what is taken back there is over.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeViolations, contentWidth, focusIsVisible, launch, newVisitor } from '../support/browser.mjs';
import { html, serve } from '../support/http.mjs';
import { SCOPES, startWorld } from '../support/world.mjs';
import { answer } from '../support/user.mjs';

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

const words = (page) => page.locator('body').innerText();

/** A grant of `brand` for `sub` by `user`, with its tokens. */
async function connected(brand, sub, user, scope = 'orders:read orders:cancel') {
  const device = await world.pa.ask(brand, sub, scope);
  await answer(device.verification_uri_complete, 'allow', scope.split(' '), user);
  const { status, body } = await world.pa.poll(brand, sub, device.device_code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** A visitor who was sent to the Brand's login, signed in as `user`, and sees the list. */
async function visit(brand, user, { script = true, options } = {}) {
  const visitor = await newVisitor(browser, { javaScriptEnabled: script, ...options });
  const { page } = visitor;
  await page.goto(brand.grantsUrl);
  assert.ok(page.url().startsWith(brand.site.loginUrl), page.url());
  await page.getByLabel('Account').fill(user);
  await page.getByRole('button', { name: 'Sign in' }).click();
  if (!script) await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL((url) => url.href.startsWith(brand.grantsUrl));
  return visitor;
}

for (const script of [true, false]) {
  test(`a User sees what an agent may do and takes it back ${script ? 'with' : 'without'} script`, within, async () => {
    const user = `jane-list-${script}`;
    const { refresh_token } = await connected(world.shop, `list-${script}`, user);
    const { context, page, violations } = await visit(world.shop, user, { script });
    const shown = await words(page);
    for (const text of [world.pa.name, world.pa.issuer, world.shop.name, `${user}@example.com`, SCOPES[0].description]) {
      assert.ok(shown.includes(text), `“${text}” stands in:\n${shown}`);
    }
    // axe is a script itself.
    if (script) assert.deepEqual(await axeViolations(page), []);
    // One question before it is done, and it can be closed again.
    assert.ok(!(await page.getByRole('button', { name: 'Yes, revoke' }).isVisible()));
    await page.locator('summary').click();
    await page.getByRole('button', { name: 'Yes, revoke' }).click();
    await page.getByText(/can no longer act on your/).waitFor();
    assert.match(await words(page), /This took effect on \d+ \w+ \d{4}, \d\d:\d\d UTC/);
    const refused = await world.pa.refresh(world.shop, `list-${script}`, refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
    assert.deepEqual(violations, []);
    // The session is still there: the list can be opened anew.
    await page.goto(world.shop.grantsUrl);
    assert.match(await words(page), /You took it back on/);
    await context.close();
  });
}

// case 49
test('the list works by keyboard, and the focus is seen all the way', within, async () => {
  const { refresh_token } = await connected(world.club, 'keys', 'jane-keys');
  const { context, page } = await visit(world.club, 'jane-keys');
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
  await tabTo('summary');
  await page.keyboard.press('Enter');
  await tabTo('details button');
  await page.keyboard.press('Enter');
  await page.getByText(/can no longer act on your/).waitFor();
  assert.deepEqual(await axeViolations(page), []);
  assert.equal((await world.pa.refresh(world.club, 'keys', refresh_token)).status, 400);
  await context.close();
});

// case 49
test('the list does not scroll sideways at 320 pixels, which is 400 % zoom', within, async () => {
  await connected(world.shop, 'narrow-list', 'jane-narrow-list');
  const { context, page } = await visit(world.shop, 'jane-narrow-list', { options: { viewport: { width: 320, height: 640 } } });
  await page.locator('summary').click();
  assert.ok((await contentWidth(page)) <= 320);
  await context.close();
});

// case 41
test('the list is not shown in a frame of another site', within, async () => {
  const body =
    `<iframe name="list"></iframe><form method="post" target="list" action="${html(world.shop.grantsUrl)}">` +
    `<input name="assertion" value="${html(await world.shop.site.grantsAssertion('jane-framed-list'))}"></form>` +
    `<script>document.forms[0].submit()</script>`;
  const attacker = await serve(({ path }) => (path === '/' ? { body } : undefined));
  const { context, page } = await newVisitor(browser);
  try {
    await page.goto(`http://evil.localhost:${attacker.port}/`);
    await page.waitForLoadState('networkidle');
    assert.equal(page.frame({ name: 'list' }).url(), 'chrome-error://chromewebdata/');
  } finally {
    await context.close();
    await attacker.stop();
  }
});

test('the consent page and the closing page lead to the list', within, async () => {
  const device = await world.pa.ask(world.club, 'linked', 'orders:read');
  const { context, page } = await newVisitor(browser);
  await page.goto(device.verification_uri_complete);
  await page.getByLabel('Account').fill('jane-linked');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('[name=decision][value=allow]').click();
  await page.getByText(/go back to your agent/i).first().waitFor();
  await page.locator(`a[href="${world.club.grantsUrl}"]`).click();
  assert.ok((await words(page)).includes(world.pa.name), 'the session of the sign-in is enough');
  await context.close();
});
