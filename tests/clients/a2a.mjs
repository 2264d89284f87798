// A generic A2A client, `@a2a-js/sdk` as published, against Assent over A2A's HTTP+JSON transport: the card, messages
// with and without delegation, a step-up to its end, receipts, retries and errors.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, RestTransportFactory, createAuthenticatingFetchWithRetry } from '@a2a-js/sdk/client';
import { isRestError } from '@a2a-js/sdk/errors';
import { createRemoteJWKSet, jwtVerify, compactVerify } from 'jose';

import { answer } from '../support/user.mjs';
import { startWorld } from '../support/world.mjs';

const DELEGATION = 'X-A2A-User-Delegation';
let world;

before(async () => {
  world = await startWorld();
});
after(() => world?.stop());

/** An A2A client that acts for `sub`, made from nothing but the address of a card. */
function clientFor(sub, cardUrl = `${world.shop.interfaceUrl}/.well-known/agent-card.json`) {
  const authenticated = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${await world.pa.jwt(sub)}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const factory = new ClientFactory({ transports: [new RestTransportFactory({ fetchImpl: authenticated })] });
  return factory.createFromUrl(cardUrl, '');
}

/** A `SendMessageRequest` of one text. */
const message = (text, { contextId = '', messageId = randomUUID(), parts } = {}) => ({
  tenant: '',
  message: {
    messageId,
    contextId,
    taskId: '',
    role: Role.ROLE_USER,
    parts: parts ?? [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
});

const under = (tokens) => ({ serviceParameters: { [DELEGATION]: `Bearer ${tokens.access_token}` } });
const textOf = ({ parts }) => parts.map((part) => part.content.value).join('');

/** A delegation for `sub` with `scopes`, through the whole of PACT §5.3. */
async function delegate(sub, scopes) {
  const device = await world.pa.ask(world.shop, sub, scopes.join(' '));
  await answer(device.verification_uri_complete, 'allow', scopes);
  const { status, body } = await world.pa.poll(world.shop, sub, device.device_code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Verifies a reply's receipt against the Brand's published keys and answers its claims. */
async function receiptOf({ metadata }) {
  const { jws, claims } = metadata['pact.receipt'];
  const keys = createRemoteJWKSet(new URL(`${world.shop.issuer}/jwks.json`));
  const { payload, protectedHeader } = await compactVerify(jws, keys);
  assert.equal(protectedHeader.typ, 'pact-receipt+jws');
  assert.deepEqual(JSON.parse(Buffer.from(payload).toString('utf8')), claims, 'the claims are those that were signed');
  return claims;
}

const failsAs = (reason, statusCode) => (error) => {
  assert.ok(isRestError(error), String(error));
  assert.deepEqual([error.reason, error.statusCode], [reason, statusCode]);
  return true;
};

test('the card is found from the interface and from the Brand’s own origin, and names both ways to be authorized', async () => {
  const client = await clientFor('a2a-card');
  const card = await client.getAgentCard();
  assert.equal(card.name, world.shop.name);
  assert.equal(card.supportedInterfaces[0].url, world.shop.interfaceUrl);
  assert.equal(card.securitySchemes.paJwt.scheme.$case, 'httpAuthSecurityScheme');
  const { flows } = card.securitySchemes.userDelegation.scheme.value;
  assert.equal(flows.flow.$case, 'deviceCode');
  assert.equal(flows.flow.value.tokenUrl, `${world.shop.issuer}/token`);
  assert.deepEqual(Object.keys(flows.flow.value.scopes), ['orders:read', 'orders:cancel', 'notes:read']);

  const fromOrigin = await clientFor('a2a-card', `${world.shop.issuer}/.well-known/agent-card.json`);
  assert.deepEqual(await fromOrigin.getAgentCard(), card);
});

test('a message is answered in a context that the next message continues', async () => {
  const client = await clientFor('a2a-plain');
  const first = await client.sendMessage(message('Hello'));
  assert.equal(textOf(first), 'Sure, what is the order number?');
  assert.equal(first.role, Role.ROLE_AGENT);
  assert.equal(first.metadata?.['pact.receipt'], undefined, 'no receipt without delegation');
  const second = await client.sendMessage(message('A-88213', { contextId: first.contextId }));
  assert.equal(second.contextId, first.contextId);
  const { body } = world.agent.turns.at(-1);
  assert.deepEqual([body.contextId, body.delegation], [first.contextId, undefined]);
});

test('with both headers the agent acts as the Brand user and the reply carries a receipt', async () => {
  const tokens = await delegate('a2a-delegated', ['orders:read']);
  const client = await clientFor('a2a-delegated');
  const reply = await client.sendMessage(message('What did I order?'), under(tokens));
  assert.equal(textOf(reply), 'jane-4471 has one order, A-88213.');
  const claims = await receiptOf(reply);
  const { grantId, ts, ...rest } = claims;
  assert.match(grantId, /^a2agrant_/);
  assert.match(ts, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual(rest, {
    user: 'jane-4471',
    pa: world.pa.issuer,
    brand: world.shop.interfaceUrl,
    scopesUsed: ['orders:read'],
    actions: [{ tool: 'lookup_orders' }],
  });
});

// case 60
test('the agent is called with a JWT of the Brand and never with the User’s tokens', async () => {
  const tokens = await delegate('a2a-turn', ['orders:read']);
  const client = await clientFor('a2a-turn');
  const { contextId } = await client.sendMessage(message('What did I order?', { messageId: 'm-1' }), under(tokens));
  const { headers, body } = world.agent.turns.at(-1);
  const keys = createRemoteJWKSet(new URL(`${world.shop.issuer}/jwks.json`));
  const { protectedHeader } = await jwtVerify(headers.authorization.replace(/^Bearer /, ''), keys, {
    issuer: world.shop.interfaceUrl,
    audience: world.agent.url,
    typ: 'assent-turn+jwt',
  });
  assert.equal(protectedHeader.alg, 'ES256');
  assert.equal(headers['idempotency-key'], `${contextId}/m-1`);
  assert.equal(headers[DELEGATION.toLowerCase()], undefined);
  assert.deepEqual(body.caller, { personalAgent: world.pa.issuer, sub: 'a2a-turn' });
  assert.deepEqual([body.delegation.user, body.delegation.scopes], ['jane-4471', ['orders:read']]);
  assert.equal(JSON.stringify(body).includes(tokens.access_token), false);
});

// case 62
test('a turn that needs more becomes an AUTH_REQUIRED task whose link ends it', async () => {
  const sub = 'a2a-step-up';
  const tokens = await delegate(sub, ['orders:read']);
  const client = await clientFor(sub);
  const request = message('Cancel my order');
  const task = await client.sendMessage(request, under(tokens));
  assert.equal(task.status.state, TaskState.TASK_STATE_AUTH_REQUIRED);
  assert.equal(textOf(task.status.message), 'I need permission to cancel orders.');
  assert.deepEqual(task.metadata['pact.missingScopes'], ['orders:cancel']);

  const link = task.metadata['pact.verificationUriComplete'];
  await answer(link, 'allow', ['orders:read', 'orders:cancel']);
  const { status, body: more } = await world.pa.refresh(world.shop, sub, tokens.refresh_token);
  assert.equal(status, 200, JSON.stringify(more));
  assert.equal(more.scope, 'orders:read orders:cancel');

  request.message.contextId = task.contextId;
  const reply = await client.sendMessage(request, under(more));
  assert.equal(textOf(reply), 'Order A-88213 is cancelled.');
  const claims = await receiptOf(reply);
  assert.deepEqual(claims.scopesUsed, ['orders:cancel']);
  assert.equal(claims.actions[0].tool, 'cancel_order');
  assert.match(claims.actions[0].argsHash, /^[A-Za-z0-9_-]{43}$/);
});

test('a turn that needs a permission nobody gave yet becomes an AUTH_REQUIRED task too', async () => {
  const client = await clientFor('a2a-first');
  const task = await client.sendMessage(message('Cancel my order'));
  assert.equal(task.status.state, TaskState.TASK_STATE_AUTH_REQUIRED);
  assert.deepEqual(task.metadata['pact.missingScopes'], ['orders:cancel']);
  assert.ok(task.metadata['pact.verificationUriComplete'].startsWith(world.shop.site.loginUrl));
});

// case 68
test('a repeated message gets the stored reply and the agent is not asked again', async () => {
  const client = await clientFor('a2a-retry');
  const { contextId } = await client.sendMessage(message('Hello'));
  const request = message('A-88213', { contextId });
  const first = await client.sendMessage(request);
  const turns = world.agent.turns.length;
  assert.deepEqual(await client.sendMessage(request), first);
  assert.equal(world.agent.turns.length, turns);
});

// case 67
test('an unknown contextId is INVALID_PARAMS', async () => {
  const client = await clientFor('a2a-errors');
  for (const contextId of [randomUUID(), 'not-a-uuid']) {
    await assert.rejects(client.sendMessage(message('Hello', { contextId })), (error) => {
      assert.equal(error.message, 'Unknown contextId');
      return failsAs('INVALID_PARAMS', 400)(error);
    });
  }
});

test('a context that the agent closed takes no more messages', async () => {
  const client = await clientFor('a2a-closed');
  const { contextId } = await client.sendMessage(message('Goodbye'));
  await assert.rejects(client.sendMessage(message('Hello', { contextId })), failsAs('UNSUPPORTED_OPERATION', 400));
});

test('what this profile does not do answers with A2A’s own errors', async () => {
  const client = await clientFor('a2a-errors');
  const { transport } = client;
  const task = { tenant: '', id: 't-1', historyLength: undefined, metadata: undefined };
  await assert.rejects(client.getTask(task), failsAs('TASK_NOT_FOUND', 404));
  await assert.rejects(client.cancelTask(task), failsAs('TASK_NOT_FOUND', 404));
  await assert.rejects(
    transport.getTaskPushNotificationConfig({ tenant: '', taskId: 't-1', id: 'c-1' }),
    failsAs('PUSH_NOTIFICATION_NOT_SUPPORTED', 400),
  );
  await assert.rejects(transport.sendMessageStream(message('Hello')).next(), failsAs('UNSUPPORTED_OPERATION', 400));
  await assert.rejects(transport.getExtendedAgentCard({ tenant: '' }), failsAs('UNSUPPORTED_OPERATION', 400));
  const url = { content: { $case: 'url', value: 'https://example.com/a.png' }, metadata: undefined, filename: '', mediaType: '' };
  await assert.rejects(client.sendMessage(message('', { parts: [url] })), failsAs('CONTENT_TYPE_NOT_SUPPORTED', 400));
  const tasks = await client.listTasks({ tenant: '', contextId: '', status: undefined, pageSize: 10, pageToken: '' });
  assert.deepEqual([tasks.tasks, tasks.totalSize, tasks.pageSize], [[], 0, 10]);
});

// case 59
test('a delegation token of somebody else is refused without an A2A body', async () => {
  const tokens = await delegate('a2a-owner', ['orders:read']);
  const client = await clientFor('a2a-thief');
  await assert.rejects(client.sendMessage(message('Hello'), under(tokens)), (error) => {
    assert.equal(error.statusCode, 401);
    assert.equal(error.headers['www-authenticate'], 'Bearer realm="a2a", error="invalid_token"');
    assert.equal(error.headers['content-length'] ?? '0', '0');
    return true;
  });
});
