// The Brand's agent behind the interface, in a process of its own: a shop that answers by the words of a message, once it
// has verified the turn token against the Brand's JWKS, and `body_sha256` against the body. It keeps every turn it was
// sent, so that a test can look at what Assent tells an agent.
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { json, serve } from './http.mjs';

const say = (text, more = {}) => ({ parts: [{ text }], ...more });

function reply({ parts, delegation }) {
  const text = parts.map((part) => part.text).join(' ').toLowerCase();
  const scopes = delegation?.scopes ?? [];
  if (text.includes('goodbye')) return say('Goodbye.', { close: true });
  if (text.includes('cancel')) {
    if (!scopes.includes('orders:cancel')) {
      return say('I need permission to cancel orders.', { missingScopes: ['orders:cancel'] });
    }
    return say('Order A-88213 is cancelled.', {
      scopesUsed: ['orders:cancel'],
      actions: [{ tool: 'cancel_order', args: { order: 'A-88213', refund: true } }],
    });
  }
  if (scopes.includes('orders:read')) {
    return say(`${delegation.user} has one order, A-88213.`, {
      scopesUsed: ['orders:read'],
      actions: [{ tool: 'lookup_orders' }],
    });
  }
  return say('Sure, what is the order number?');
}

/** Whether `token` was signed by the Brand at `interfaceUrl`, for this agent and this body. */
async function isFromTheProvider(token, body, { interfaceUrl, issuer }, audience) {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`));
  const { payload } = await jwtVerify(token, keys, { issuer: interfaceUrl, audience, typ: 'assent-turn+jwt' });
  return payload.body_sha256 === createHash('sha256').update(body).digest('base64url');
}

/**
 * Starts the agent of `brands`, each `{ id, interfaceUrl, issuer }`. `turns` holds `{ headers, body }` of each call that
 * was genuine, oldest first.
 */
export async function startAgent() {
  const turns = [];
  const brands = [];
  let url;
  const server = await serve(async ({ method, headers, body }) => {
    if (method !== 'POST') return undefined;
    const turn = { headers, body: JSON.parse(body) };
    const brand = brands.find(({ id }) => id === turn.body.brandId);
    const token = headers.authorization.replace(/^Bearer /, '');
    if (!(await isFromTheProvider(token, body, brand, url))) return { status: 401 };
    turns.push(turn);
    return json(reply(turn.body));
  });
  url = `http://127.0.0.1:${server.port}/turn`;
  return { url, turns, brands, stop: server.stop };
}
