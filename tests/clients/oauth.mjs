// A generic OAuth client, `oauth4webapi` as published, against Assent: discovery from the issuer alone, device
// authorization, polling, refresh, introspection, revocation. Client authentication is the personal-agent JWT.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import * as oauth from 'oauth4webapi';

import { answer } from '../support/user.mjs';
import { startWorld } from '../support/world.mjs';

const insecure = { [oauth.allowInsecureRequests]: true };
const bothBrands = ['shop', 'club'];
let world;

before(async () => {
  world = await startWorld();
});
after(() => world?.stop());

/** The client's whole knowledge of a Brand: its issuer. */
async function discover(brand) {
  const issuer = new URL(brand.issuer);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  return oauth.processDiscoveryResponse(issuer, response);
}

/** A client of `brand` that acts for `sub`. */
async function clientFor(brand, sub) {
  const as = await discover(brand);
  const client = { client_id: world.pa.issuer };
  const authenticate = async (_as, _client, _body, headers) => {
    headers.set('authorization', `Bearer ${await world.pa.jwt(sub)}`);
  };
  const call = (request, ...rest) => request(as, client, authenticate, ...rest);
  return {
    as,
    async ask(scope) {
      const response = await call(oauth.deviceAuthorizationRequest, { scope }, insecure);
      return oauth.processDeviceAuthorizationResponse(as, client, response);
    },
    async poll(deviceCode) {
      const response = await call(oauth.deviceCodeGrantRequest, deviceCode, insecure);
      return oauth.processDeviceCodeResponse(as, client, response);
    },
    async refresh(token, scope) {
      const more = scope === undefined ? {} : { additionalParameters: { scope } };
      const response = await call(oauth.refreshTokenGrantRequest, token, { ...insecure, ...more });
      return oauth.processRefreshTokenResponse(as, client, response);
    },
    async introspect(token) {
      const response = await call(oauth.introspectionRequest, token, insecure);
      return oauth.processIntrospectionResponse(as, client, response);
    },
    async revoke(token) {
      const response = await call(oauth.revocationRequest, token, insecure);
      return oauth.processRevocationResponse(response);
    },
  };
}

const refused = (error) => (thrown) => thrown instanceof oauth.ResponseBodyError && thrown.error === error;

/** Polls as RFC 8628 §3.5 says until there is an answer; `meanwhile` runs after the first `authorization_pending`. */
async function pollToTheEnd(client, device, meanwhile) {
  let interval = device.interval ?? 5;
  let pending = 0;
  for (;;) {
    try {
      return { pending, tokens: await client.poll(device.device_code) };
    } catch (error) {
      if (!(error instanceof oauth.ResponseBodyError)) throw error;
      if (error.error === 'slow_down') interval += 5;
      else if (error.error !== 'authorization_pending') throw error;
    }
    pending += 1;
    assert.ok(pending < 5, 'the User decided, so polling ends');
    if (pending === 1) await meanwhile();
    await sleep(interval * 1000);
  }
}

for (const which of bothBrands) {
  test(`the issuer of the ${which} alone leads to its metadata, the same bytes at both addresses`, async () => {
    const brand = world[which];
    const as = await discover(brand);
    assert.equal(as.issuer, brand.issuer);
    assert.deepEqual(as.grant_types_supported.toSorted(), [
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ]);
    assert.deepEqual(as.response_types_supported, []);
    const { origin, pathname } = new URL(brand.issuer);
    const inserted = `${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`;
    const appended = `${brand.issuer}/.well-known/oauth-authorization-server`;
    const bodies = await Promise.all([inserted, appended].map(async (url) => (await fetch(url)).text()));
    assert.equal(bodies[0], bodies[1]);
  });

  test(`a generic client gets, checks, refreshes and revokes the tokens of the ${which}`, async () => {
    const brand = world[which];
    const client = await clientFor(brand, `oauth-${which}`);
    const device = await client.ask('orders:read orders:cancel');
    assert.match(device.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.equal(device.expires_in, 600);
    assert.ok(device.verification_uri.startsWith(brand.site.loginUrl));
    assert.ok(device.verification_uri_complete.startsWith(brand.site.loginUrl));

    const { pending, tokens } = await pollToTheEnd(client, device, () =>
      answer(device.verification_uri_complete, 'allow', ['orders:read']),
    );
    assert.equal(pending, 1, 'the first answer after the decision is the tokens');
    assert.equal(tokens.token_type, 'bearer');
    assert.equal(tokens.scope, 'orders:read', 'what the User left ticked');
    await assert.rejects(client.poll(device.device_code), refused('invalid_grant'), 'a redeemed code is spent');

    // RFC 9068, as a resource server checks it; the library fetches the JWKS itself.
    const request = new Request(brand.interfaceUrl, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(client.as, request, brand.interfaceUrl, insecure);
    assert.equal(claims.sub, 'jane-4471');
    assert.equal(claims.client_id, world.pa.issuer);
    assert.equal(claims.scope, 'orders:read');
    assert.match(claims.grant_id, /^a2agrant_[0-9A-HJKMNP-TV-Z]{26}$/);

    const next = await client.refresh(tokens.refresh_token);
    assert.notEqual(next.refresh_token, tokens.refresh_token, 'rotated');
    assert.equal(next.scope, 'orders:read');
    await assert.rejects(client.refresh(tokens.refresh_token), refused('invalid_grant'), 'a used token');
    await assert.rejects(client.refresh(next.refresh_token, 'orders:read notes:read'), refused('invalid_scope'));
    const last = await client.refresh(next.refresh_token);

    for (const token of [last.access_token, last.refresh_token]) {
      const told = await client.introspect(token);
      assert.deepEqual([told.active, told.sub, told.scope], [true, 'jane-4471', 'orders:read']);
    }
    assert.deepEqual(await client.introspect(tokens.refresh_token), { active: false }, 'a used token');

    await client.revoke(last.refresh_token);
    assert.deepEqual(await client.introspect(last.access_token), { active: false });
    await assert.rejects(client.refresh(last.refresh_token), refused('invalid_grant'));
  });
}

// case 25
test('polling sooner than the interval is told to slow down', async () => {
  const client = await clientFor(world.shop, 'oauth-hasty');
  const device = await client.ask('orders:read');
  await assert.rejects(client.poll(device.device_code), refused('authorization_pending'));
  await assert.rejects(client.poll(device.device_code), refused('slow_down'));
});

// case 29
test('a User who does not allow it leaves the client with access_denied', async () => {
  const client = await clientFor(world.shop, 'oauth-denied');
  const device = await client.ask('orders:read');
  const end = await answer(device.verification_uri_complete, 'deny', []);
  assert.equal(end.searchParams.get('status'), 'denied');
  assert.equal(end.searchParams.get('scope'), null);
  await assert.rejects(client.poll(device.device_code), refused('access_denied'));
  await assert.rejects(client.poll(device.device_code), refused('access_denied'), 'for good');
});

// case 19
test('an unknown scope is refused with a description', async () => {
  const client = await clientFor(world.shop, 'oauth-scope');
  await assert.rejects(
    client.ask('orders:read orders'),
    (error) => refused('invalid_scope')(error) && error.status === 400 && Boolean(error.error_description),
  );
});

test('a client without a valid personal-agent JWT meets a Bearer challenge', async () => {
  const as = await discover(world.shop);
  const unauthenticated = await oauth.deviceAuthorizationRequest(
    as,
    { client_id: world.pa.issuer },
    oauth.None(),
    { scope: 'orders:read' },
    insecure,
  );
  await assert.rejects(
    oauth.processDeviceAuthorizationResponse(as, { client_id: world.pa.issuer }, unauthenticated),
    (error) =>
      error instanceof oauth.WWWAuthenticateChallengeError &&
      error.status === 401 &&
      error.cause[0].scheme === 'bearer' &&
      error.cause[0].parameters.realm === 'a2a',
  );
});
