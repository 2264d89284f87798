// Teaches this Node process what browsers know (RFC 6761 §6.3): every name under `localhost` is this machine. Import it
// before anything connects; the libraries under test keep their own `fetch` and see the names that a browser sees.
import dns from 'node:dns';

const lookup = dns.lookup;

dns.lookup = (hostname, options, callback) => {
  const done = typeof options === 'function' ? options : callback;
  const all = typeof options === 'object' && options?.all;
  if (!/(^|\.)localhost\.?$/i.test(hostname)) return lookup(hostname, options, callback);
  const [address, family] = ['127.0.0.1', 4];
  process.nextTick(() => (all ? done(null, [{ address, family }]) : done(null, address, family)));
};
