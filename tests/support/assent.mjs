// The program under test, as an operator runs it: a configuration file, `migrate`, `apply`, `serve`.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** The binary: `ASSENT_BIN`, or the debug build. */
export const assentBinary = () =>
  path.resolve(process.env.ASSENT_BIN ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(repository, 'target'), 'debug/assent'));

/** This environment without the names that Assent would take for (unknown) settings of its own. */
function environment(more = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ASSENT_'));
  return { ...Object.fromEntries(kept), ...more };
}

/** Runs `assent ARGS` to its end; fails with what it wrote when it fails. */
export async function runAssent(args, more = {}) {
  return promisify(execFile)(assentBinary(), args, { env: environment(more) }).catch((error) => {
    throw new Error(`assent ${args.join(' ')} failed: ${error.message}\n${error.stdout}\n${error.stderr}`);
  });
}

async function ready(url, child, log) {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`assent serve ended with ${child.exitCode}:\n${log.join('')}`);
    const response = await fetch(url).catch(() => undefined);
    if (response?.status === 200) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`assent serve was not ready in 30 s:\n${log.join('')}`);
}

/** Serves `config` (assent.toml) after applying `apply` (a file of Brands and personal agents), on an own SQLite file. */
export async function startAssent({ config, apply, adminPort }) {
  const directory = await mkdtemp(path.join(tmpdir(), 'assent-test-'));
  const [configFile, applyFile] = ['assent.toml', 'brands.toml'].map((name) => path.join(directory, name));
  await writeFile(configFile, `database_url = "sqlite://${directory}/assent.db"\n${config}`);
  await writeFile(applyFile, apply);
  const secret = { ASSENT_MASTER_KEY: randomBytes(32).toString('base64') };
  await runAssent(['--config', configFile, 'migrate'], secret);
  await runAssent(['--config', configFile, 'apply', applyFile], secret);

  const log = [];
  let running;
  const start = async () => {
    const child = spawn(assentBinary(), ['--config', configFile, 'serve'], {
      env: environment(secret),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text) => log.push(text));
    if (process.env.SHOW_LOG) child.stderr.pipe(process.stderr);
    running = { child, ended: new Promise((done) => child.once('close', done)) };
    await ready(`http://127.0.0.1:${adminPort}/readyz`, child, log);
  };
  const end = async (signal) => {
    const { child, ended } = running;
    child.kill(signal);
    const forced = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(forced);
  };
  const stop = async () => {
    await end('SIGTERM');
    await rm(directory, { recursive: true, force: true });
  };
  /** Ends the process, by default without a word to it, and starts it again on the same database. */
  const restart = async (signal = 'SIGKILL') => {
    await end(signal);
    await start();
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  /** Runs `assent ARGS` on the same machine, as an operator does beside the server. */
  const run = async (...args) => (await runAssent(['--config', configFile, ...args], secret)).stdout;
  return { log, restart, stop, run, directory };
}
