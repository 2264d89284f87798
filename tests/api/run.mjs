// The JSON API against its own OpenAPI document: schemathesis with every check, at a real server that has a Brand, a personal
// agent, and a grant under which something was done.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { answer } from '../support/user.mjs';
import { startWorld } from '../support/world.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const WITHIN_MS = 300_000;
const [schemathesis] = process.argv.slice(2).map((file) => path.resolve(file));

/** A grant of the shop, with tokens and a receipt. */
async function grant({ pa, shop }) {
  const device = await pa.ask(shop, 'user-1', 'orders:read');
  await answer(device.verification_uri_complete, 'allow', ['orders:read']);
  const { status, body } = await pa.poll(shop, 'user-1', device.device_code);
  assert.equal(status, 200, JSON.stringify(body));
  const response = await fetch(`${shop.interfaceUrl}/message:send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await pa.jwt('user-1')}`,
      'x-a2a-user-delegation': `Bearer ${body.access_token}`,
      'content-type': 'application/a2a+json',
    },
    body: JSON.stringify({ message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Where is my order?' }] } }),
  });
  assert.equal(response.status, 200, await response.text());
}

// It keeps what it found where it runs.
const work = await mkdtemp(path.join(tmpdir(), 'assent-api-'));
const world = await startWorld();
try {
  await grant(world);
  const made = await world.assent.run('admin', 'key', 'create', '--name', 'schemathesis', '--role', 'owner', '--json');
  const { id, key } = JSON.parse(made);
  const args = ['--config-file', here('schemathesis.toml'), 'run'];
  const child = spawn(schemathesis, [...args, `http://127.0.0.1:${world.adminPort}/api/v1/openapi.json`], {
    cwd: work,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ASSENT_API_KEY: key, ASSENT_API_KEY_ID: id, SCHEMATHESIS_HOOKS: here('hooks.py'), PYTHONDONTWRITEBYTECODE: '1' },
  });
  const late = setTimeout(() => child.kill('SIGKILL'), WITHIN_MS);
  process.exitCode = await new Promise((done) => child.once('exit', (code) => done(code ?? 1)));
  clearTimeout(late);
} finally {
  await world.stop();
  await rm(work, { recursive: true, force: true });
}
