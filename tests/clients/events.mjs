// A Brand's receiver of events (RFC 8935) that is down for a minute, while the program is killed and started again: what happened
// to each grant arrives all the same, in order, each event under one `jti`, and verifies with a JOSE library of another make.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { createRemoteJWKSet, jwtVerify } from 'jose';

import { freePort, serve } from '../support/http.mjs';
import { answer } from '../support/user.mjs';
import { startWorld } from '../support/world.mjs';

const DOWN_MS = 60_000;
/** After so long down the next attempt is due within another such time, and the pauses are cut by chance. */
const PATIENCE_MS = 150_000;

let port;
let world;

before(async () => {
  port = await freePort();
  world = await startWorld({ events: `http://127.0.0.1:${port}/events` });
});
after(() => world?.stop());

/** What a receiver was sent, verified, in the order of arrival. The first delivery of each event is not acknowledged. */
async function startReceiver() {
  const keys = createRemoteJWKSet(new URL(`${world.shop.issuer}/jwks.json`));
  const arrived = [];
  const seen = new Set();
  const server = await serve(async ({ method, path, headers, body }) => {
    assert.deepEqual([method, path, headers['content-type']], ['POST', '/events', 'application/secevent+jwt']);
    const verified = await jwtVerify(body, keys, {
      issuer: world.shop.issuer,
      audience: `http://127.0.0.1:${port}/events`,
      typ: 'secevent+jwt',
    });
    const { jti, sub_id, events } = verified.payload;
    const [[uri, event]] = Object.entries(events);
    arrived.push({ jti, body, user: sub_id.sub, what: uri.split(':').pop(), grant: event.grant_id, event });
    const isFirst = !seen.has(jti);
    seen.add(jti);
    return { status: isFirst && arrived.length === 1 ? 503 : 202 };
  }, port);
  return { arrived, stop: server.stop };
}

/** The whole of a delegation: what `user` allows, more of it, and that the personal agent gives it back. */
async function allow(user, scopes) {
  const device = await world.pa.ask(world.shop, `pa-${user}`, scopes.join(' '));
  await answer(device.verification_uri_complete, 'allow', scopes, user);
  const { status, body } = await world.pa.poll(world.shop, `pa-${user}`, device.device_code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function giveBack(user, token) {
  const response = await fetch(`${world.shop.issuer}/revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await world.pa.jwt(`pa-${user}`)}` },
    body: new URLSearchParams({ token }),
  });
  assert.equal(response.status, 200);
}

test('events outlive a receiver that is down for a minute and a program that is killed meanwhile', async () => {
  const down = Date.now();
  const users = ['jane-4471', 'omar-0007', 'li-0815'];
  const tokens = new Map();
  for (const user of users) tokens.set(user, await allow(user, ['orders:read']));
  await sleep(DOWN_MS / 3);
  await world.assent.restart();
  for (const user of users) tokens.set(user, await allow(user, ['orders:read', 'orders:cancel']));
  await sleep(DOWN_MS / 3);
  await world.assent.restart();
  for (const user of users) await giveBack(user, tokens.get(user).refresh_token);
  await sleep(Math.max(0, DOWN_MS - (Date.now() - down)));

  const receiver = await startReceiver();
  try {
    const distinct = () => new Set(receiver.arrived.map(({ jti }) => jti));
    const deadline = Date.now() + PATIENCE_MS;
    while (distinct().size < 3 * users.length && Date.now() < deadline) await sleep(200);

    assert.equal(distinct().size, 3 * users.length, 'every event arrived');
    for (const user of users) {
      const own = receiver.arrived.filter((event) => event.user === user);
      const once = own.filter(({ jti }, at) => own.findIndex((other) => other.jti === jti) === at);
      assert.deepEqual(once.map(({ what }) => what), ['grant-created', 'grant-changed', 'grant-ended'], user);
      assert.equal(new Set(own.map(({ grant }) => grant)).size, 1, 'of one grant');
      assert.deepEqual(once.map(({ jti }) => jti), [1, 2, 3].map((version) => `${own[0].grant}.${version}`));
      assert.equal(once[1].event.scope, 'orders:read orders:cancel');
      assert.equal(once[2].event.ended_by, 'personal_agent');
    }
    const again = receiver.arrived.filter(({ jti }) => jti === receiver.arrived[0].jti);
    assert.ok(again.length > 1, 'what was not acknowledged came again under its jti');
  } finally {
    await receiver.stop();
  }
});
