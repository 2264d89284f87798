// The User's part where no browser is needed: follows the link, signs in at the Brand, reads the consent page as a
// client without an HTML parser can, and decides.
import assert from 'node:assert/strict';

const plain = (text) =>
  text.replace(/&(#x?[0-9a-f]+|amp|lt|gt|quot);/gi, (_, name) => {
    const named = { amp: '&', lt: '<', gt: '>', quot: '"' }[name.toLowerCase()];
    return named ?? String.fromCodePoint(/^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10));
  });

function only(text, pattern, what) {
  const found = text.match(pattern);
  assert.ok(found, `${what} is on the page:\n${text.slice(0, 2000)}`);
  return plain(found[1]);
}

/** A browser's cookies, by origin. */
const cookies = new Map();

async function browse(url, options = {}) {
  const { origin } = new URL(url);
  const headers = cookies.has(origin) ? { cookie: cookies.get(origin) } : {};
  const response = await fetch(url, { ...options, headers });
  for (const cookie of response.headers.getSetCookie()) cookies.set(origin, cookie.split(';')[0]);
  return response;
}

/**
 * Comes to the consent page as `user` by way of `link` and answers its `{ status, body }`. A link that leads to the
 * consent page itself, as a step-up's does while a session is live, needs no login.
 */
export async function signIn(link, user = 'jane-4471') {
  const first = await browse(link);
  const login = await first.text();
  if (login.includes('name="session"')) return { status: first.status, body: login };
  const userCode = only(login, /name="user_code" value="([^"]*)"/, 'the user code');
  const handOver = await browse(new URL('/login', first.url), {
    method: 'POST',
    body: new URLSearchParams({ user_code: userCode, user }),
  });
  const form = await handOver.text();
  const response = await browse(only(form, /action="([^"]*)"/, 'the consent URL'), {
    method: 'POST',
    body: new URLSearchParams({ assertion: only(form, /name="assertion" value="([^"]*)"/, 'the assertion') }),
  });
  return { status: response.status, body: await response.text() };
}

/** Decides on the consent page `body`; `scopes` are those left ticked. Answers where the browser is sent. */
export async function decide(body, decision, scopes) {
  const [form] = body.match(/<form[\s\S]*?<\/form>/) ?? [];
  assert.ok(form, 'the consent page has a form');
  const action = only(form, /action="([^"]*)"/, 'the form’s absolute action');
  const fields = new URLSearchParams({ session: only(form, /name="session" value="([A-Za-z0-9_-]+)"/, 'session'), decision });
  for (const scope of scopes) fields.append('scope', scope);
  const response = await fetch(action, { method: 'POST', body: fields, redirect: 'manual' });
  await response.text();
  assert.equal(response.status, 303, 'a decision is answered with 303');
  return new URL(response.headers.get('location'), action);
}

/** The whole of the User's part with the outcome `decision`. */
export async function answer(link, decision, scopes, user) {
  const consent = await signIn(link, user);
  assert.equal(consent.status, 200, consent.body.slice(0, 500));
  return decide(consent.body, decision, scopes);
}
