// A personal agent: its JWKS, its JWTs (PACT §3.2) and plain OAuth calls for tests that are about something else.
import { serve, json } from './http.mjs';
import { newKey, now } from './keys.mjs';

/** The grant type of RFC 8628 §3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** Starts a personal agent that was assigned `audience`. */
export async function startPersonalAgent({ name, audience }) {
  const key = await newKey('pa-1');
  const server = await serve(({ path }) => (path === '/jwks.json' ? json(key.jwks) : undefined));
  const issuer = `http://pa.localhost:${server.port}`;

  const jwt = (sub, over = {}) => key.sign({ iss: issuer, sub, aud: audience, iat: now(), exp: now() + 120, ...over });

  /** POSTs `form` to `url` as `sub` and reads the JSON answer. */
  async function post(url, sub, form) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${await jwt(sub)}` },
      body: new URLSearchParams({ client_id: issuer, ...form }),
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : undefined };
  }

  /** A device authorization of `brand` (PACT §5.3). */
  async function ask(brand, sub, scope) {
    const { status, body } = await post(`${brand.issuer}/device_authorization`, sub, { scope });
    if (status !== 200) throw new Error(`device_authorization answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  const poll = (brand, sub, device_code) =>
    post(`${brand.issuer}/token`, sub, { grant_type: DEVICE_CODE, device_code });

  const refresh = (brand, sub, refresh_token) =>
    post(`${brand.issuer}/token`, sub, { grant_type: 'refresh_token', refresh_token });

  return {
    name,
    issuer,
    audience,
    jwksUri: `http://127.0.0.1:${server.port}/jwks.json`,
    jwt,
    ask,
    poll,
    refresh,
    stop: server.stop,
  };
}
