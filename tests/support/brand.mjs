// A Brand's website: its login (PACT §5.3), its JWKS, and the page to which Users come back.
//
// As every Brand must, the login takes nothing but `user_code` from `return_to`, and posts the assertion nowhere but to
// the consent URL that it was configured with: anyone can edit a link.
import { randomUUID } from 'node:crypto';

import { html, json, page, serve } from './http.mjs';
import { newKey, now } from './keys.mjs';

function loginPage(query, grantsUrl) {
  const returnTo = query.get('return_to') ?? '';
  if (returnTo === grantsUrl) return signInPage('<input type="hidden" name="grants" value="1">');
  const userCode = URL.canParse(returnTo) ? (new URL(returnTo).searchParams.get('user_code') ?? '') : '';
  const code = userCode
    ? `<input type="hidden" name="user_code" value="${html(userCode)}">`
    : `<label>Code <input name="user_code"></label>`;
  return signInPage(code);
}

function signInPage(errand) {
  return page(
    'Sign in to your account',
    `<form method="post" action="/login">${errand}<label>Account <input name="user" value="jane-4471"></label>` +
      `<button>Sign in</button></form>`,
  );
}

function handOver(url, assertion) {
  return page(
    'Signed in',
    `<form method="post" action="${html(url)}"><input type="hidden" name="assertion" value="${html(assertion)}">` +
      `<button>Continue</button></form><script>document.forms[0].submit()</script>`,
  );
}

function connectedPage(query) {
  const shown = [...query].map(([name, value]) => `<dt>${html(name)}</dt><dd id="${html(name)}">${html(value)}</dd>`);
  return page('Connected', `<dl>${shown.join('')}</dl>`);
}

/** Starts the website of a Brand called `label`, which signs Users in for `consentUrl` and `grantsUrl`. */
export async function startBrandSite({ label, consentUrl, grantsUrl }) {
  const key = await newKey(`${label}-1`);
  let issuer;

  const assertion = (user, user_code, over = {}) =>
    key.sign({
      iss: issuer,
      aud: consentUrl,
      sub: user,
      user_code,
      jti: randomUUID(),
      iat: now(),
      exp: now() + 120,
      name: 'Jane Doe',
      email: `${user}@example.com`,
      ...over,
    });

  const grantsAssertion = (user) => assertion(user, undefined, { aud: grantsUrl });

  const server = await serve(async ({ method, path, query, body }) => {
    if (path === '/jwks.json') return json(key.jwks);
    if (path === '/connected') return { body: connectedPage(query) };
    if (path === '/login' && method === 'GET') return { body: loginPage(query, grantsUrl) };
    if (path === '/login' && method === 'POST') {
      const form = new URLSearchParams(body);
      const user = form.get('user');
      if (form.has('grants')) return { body: handOver(grantsUrl, await grantsAssertion(user)) };
      return { body: handOver(consentUrl, await assertion(user, form.get('user_code'))) };
    }
    return undefined;
  });
  issuer = `http://${label}.localhost:${server.port}`;
  return {
    issuer,
    loginUrl: `${issuer}/login`,
    connectedUrl: `${issuer}/connected`,
    jwksUri: `http://127.0.0.1:${server.port}/jwks.json`,
    assertion,
    grantsAssertion,
    stop: server.stop,
  };
}
