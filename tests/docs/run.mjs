// A fenced block is executed when its info string says so:
//   sh run          run in bash; all blocks share one shell. `sh run fails` must exit with 1.
//   NAME file=F     written to F in the working directory of that moment
//   LANG answer     what the run block before it prints: JSON by value where LANG is json, line by line otherwise.
// `…` stands for any text in a string or line, a line that is only `…` for any lines, and a JSON member "…" for any others.
// The documents' ports are replaced by free ones, so that nothing has to be stopped for a run.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { assentBinary } from '../support/assent.mjs';
import { freePort } from '../support/http.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In the order in which a reader comes to them. */
const DOCUMENTS = [
  'README.md', 'docs/brand-login.md', 'docs/personal-agent.md', 'docs/agent-backend.md', 'docs/administration.md', 'docs/api.md',
  'docs/operating.md',
];
const PORTS = [8080, 8081, 9001, 9002, 9003];
const WITHIN_MS = 120_000;

/** The blocks of a document: `{ language, words, text, at }`. */
function blocks(document, text) {
  const found = [];
  let open;
  text.split('\n').forEach((line, index) => {
    if (!line.startsWith('```')) open?.lines.push(line);
    else if (open) open = undefined;
    else {
      const [language, ...words] = line.slice(3).trim().split(/\s+/);
      open = { language, words, lines: [], at: `${document}:${index + 1}` };
      found.push(open);
    }
  });
  if (open) throw new Error(`${open.at}: the block does not end`);
  return found.map(({ lines, ...block }) => ({ ...block, text: `${lines.join('\n')}\n` }));
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const pattern = (text) => new RegExp(`^${text.split('…').map(escaped).join('.*')}$`, 'u');

/** Whether `found` is what a document shows as `shown`. */
function isShown(shown, found) {
  if (typeof shown === 'string') return shown === '…' || (typeof found === 'string' && pattern(shown).test(found));
  if (Array.isArray(shown)) {
    return Array.isArray(found) && shown.length === found.length && shown.every((item, i) => isShown(item, found[i]));
  }
  if (shown === null || typeof shown !== 'object') return shown === found;
  if (found === null || typeof found !== 'object' || Array.isArray(found)) return false;
  const names = Object.keys(shown).filter((name) => name !== '…');
  return (
    names.every((name) => name in found && isShown(shown[name], found[name])) &&
    ('…' in shown || Object.keys(found).length === names.length)
  );
}

function isAnswer({ language, text }, output) {
  if (language === 'json') {
    try {
      return isShown(JSON.parse(text), JSON.parse(output));
    } catch {
      return false;
    }
  }
  const lines = text.trimEnd().split('\n').map((line) => (line === '…' ? '[\\s\\S]*' : pattern(line).source.slice(1, -1)));
  return new RegExp(`^${lines.join('\n')}$`, 'u').test(output.trimEnd());
}

async function collected() {
  const free = [];
  for (const port of PORTS) free.push([port, await freePort()]);
  const moved = (text) => free.reduce((text, [from, to]) => text.replaceAll(String(from), String(to)), text);
  const all = [];
  for (const document of DOCUMENTS) {
    all.push(...blocks(document, moved(await readFile(path.join(ROOT, document), 'utf8'))));
  }
  // The default addresses stand in no document; the documents say that variables override.
  const [listen, admin] = free.map(([, to]) => `127.0.0.1:${to}`);
  return { all, environment: { ASSENT_LISTEN: listen, ASSENT_ADMIN_LISTEN: admin } };
}

/** The script, and the steps that have output, by their number. */
function script(all, work) {
  const steps = [];
  const parts = ['set -o pipefail'];
  for (const block of all) {
    const file = block.words.find((word) => word.startsWith('file='));
    const last = steps.at(-1);
    if (file) {
      const source = path.join(work, `file-${parts.length}`);
      steps.push({ block, source });
      parts.push(`cp '${source}' '${file.slice('file='.length)}' || exit 99`);
    } else if (block.words.includes('run')) {
      const output = path.join(work, `output-${steps.length}`);
      const wanted = block.words.includes('fails') ? 1 : 0;
      // A step's variables must outlive it, so there is no subshell; at its first failure the whole run stops.
      const stop = `echo ${steps.length} > '${work}/stopped'`;
      parts.push(
        block.words.includes('fails')
          ? `{ ${block.text}} > '${output}' 2>&1; [ $? = 1 ] || { ${stop}; exit 98; }`
          : `${stop}; set -e\n{ ${block.text}} > '${output}' 2>&1\nset +e; rm '${work}/stopped'`,
      );
      steps.push({ block, output });
    } else if (block.words.includes('answer')) {
      if (!last?.output) throw new Error(`${block.at}: no run block before this answer`);
      last.answer = block;
    }
  }
  return { steps, text: `${parts.join('\n')}\n` };
}

/** Runs bash in a process group of its own, which ends with it: the documents leave servers behind. */
async function bash(file, environment) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ASSENT_'));
  const PATH = [path.dirname(assentBinary()), path.dirname(process.execPath), process.env.PATH].join(':');
  const child = spawn('bash', [file], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...Object.fromEntries(kept), ...environment, PATH },
  });
  const end = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch {
      // Everything has ended by itself.
    }
  };
  const late = setTimeout(() => end('SIGKILL'), WITHIN_MS);
  const code = await new Promise((done) => child.once('exit', done));
  clearTimeout(late);
  end('SIGTERM');
  return code;
}

const work = await mkdtemp(path.join(tmpdir(), 'assent-docs-'));
try {
  const { all, environment } = await collected();
  const { steps, text } = script(all, work);
  for (const { block, source } of steps) if (source) await writeFile(source, block.text);
  await writeFile(path.join(work, 'script'), text);
  const code = await bash(path.join(work, 'script'), { ...environment, TMPDIR: work });

  const stopped = await readFile(path.join(work, 'stopped'), 'utf8').catch(() => undefined);
  const failures = [];
  let compared = 0;
  for (const [index, { block, output, answer }] of steps.entries()) {
    if (!output) continue;
    const read = await readFile(output, 'utf8').catch(() => undefined);
    if (read === undefined) break;
    const found = read.replaceAll('\r', '');
    if (stopped && Number(stopped) === index) failures.push(`${block.at} failed:\n${found}`);
    else if (answer && !isAnswer(answer, found)) failures.push(`${answer.at}: shown\n${answer.text}found\n${found}`);
    compared += 1;
  }
  if (code !== 0 && failures.length === 0) failures.push(`the shell ended with ${code}`);
  if (failures.length > 0) {
    console.error(failures.join('\n\n'));
    process.exitCode = 1;
  } else {
    console.log(`documents: ${compared} blocks executed, ${steps.filter(({ answer }) => answer).length} answers compared`);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
