// The Brand's agent behind the interface: a shop that answers by the words of a message. It keeps every turn it was
// sent, so that a test can look at what Assent tells an agent.
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

/** Starts the agent. `turns` holds `{ headers, body }` of each call, oldest first. */
export async function startAgent() {
  const turns = [];
  const server = await serve(({ method, headers, body }) => {
    if (method !== 'POST') return undefined;
    const turn = { headers, body: JSON.parse(body) };
    turns.push(turn);
    return json(reply(turn.body));
  });
  return { url: `http://127.0.0.1:${server.port}/turn`, turns, stop: server.stop };
}
