// Which tests hold which case of docs/cases.md, and how they ended.
//
//   cases.mjs filter             a filterset of cargo-nextest with every Rust test that carries a number
//   cases.mjs report LOG…        every number with its tests and results, read from the logs of the runners
//
// A test carries the number of a case in a comment above it or inside it: `// case 12`, `// cases 12, 13: in both ways`.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;

function* files(directory, ending) {
  for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') yield* files(path, ending);
    else if (entry.name.endsWith(ending)) yield path;
  }
}

/** The numbers of a comment, or none. */
function numbers(line) {
  const list = /^\s*\/\/ cases? (\d+(?:(?:, | and )\d+)*)(?::|$)/.exec(line)?.[1];
  return list === undefined ? [] : list.split(/, | and /).map(Number);
}

/** Every test of a file with its cases. `nameOf` reads a test's name from its first line. */
function carried(path, nameOf) {
  const found = [];
  let waiting = [];
  for (const line of readFileSync(join(root, path), 'utf8').split('\n')) {
    if (/^\s*(\/\/|#\[)/.test(line)) {
      waiting.push(...numbers(line));
      continue;
    }
    // Whatever follows a comment decides whether it stands above a test or inside the last one.
    const name = nameOf(line);
    if (name !== undefined) found.push({ path, name, cases: new Set() });
    if (waiting.length > 0 && found.length === 0) throw new Error(`${path}: a case stands above no test`);
    waiting.forEach((number) => found.at(-1).cases.add(number));
    waiting = [];
  }
  return found.filter(({ cases }) => cases.size > 0);
}

/** The module path of a Rust file, as its tests are named by the runner; a unit test's ends with its module's name. */
function modulePath(path) {
  const inside = relative(path.startsWith('src') ? 'src' : 'tests/it', path);
  return inside.replace(/\.rs$/, '').replace(/\/mod$/, '').replaceAll('/', '::');
}

const rust = ['src', 'tests/it'].flatMap((directory) => [...files(directory, '.rs')]).flatMap((path) =>
  carried(path, (line) => /^\s*(?:async )?fn (\w+)\(/.exec(line)?.[1]).map((test) => ({
    ...test,
    // On one database, on both of them, or in the file's own module of unit tests.
    pattern: new RegExp(`(^|[\\s:])${modulePath(path)}(::tests)?::${test.name}(::(sqlite|postgres))?$`),
  })),
);

const script = ['tests/clients', 'tests/browser'].flatMap((directory) => [...files(directory, '.mjs')]).flatMap((path) =>
  carried(path, (line) => /^\s*(?:test|it)\((['"`])(.+?)\1,/.exec(line)?.[2]).map((test) => ({ ...test, exact: test.name })),
);

/** What the runners said of each test, by its name. */
function results(logs) {
  const said = new Map();
  for (const line of logs.flatMap((log) => readFileSync(log, 'utf8').split('\n'))) {
    const nextest = /^ *(?:TRY \d+ )?(PASS|FAIL|TIMEOUT|ABORT|SIGSEGV|SIGABRT) .*?\] (?:\( *\d+\/\d+\) )?\S+ (\S+)$/.exec(line);
    const cargo = /^test (\S+) \.\.\. (ok|FAILED|ignored)$/.exec(line);
    const node = /^\s*([✔✖﹣]) (.+?) \(\d[\d.]*ms\)(?: #.*)?$/.exec(line);
    if (nextest) said.set(nextest[2], nextest[1] === 'PASS' ? 'passed' : 'failed');
    else if (cargo) said.set(cargo[1], cargo[2] === 'ok' ? 'passed' : 'failed');
    else if (node) said.set(node[2], node[1] === '✔' ? 'passed' : 'failed');
  }
  return said;
}

/** Every numbered line of the document. */
function listed() {
  const lines = readFileSync(join(root, 'docs/cases.md'), 'utf8').split('\n');
  return lines.map((line) => /^(\d+)\. (.+)$/.exec(line)).filter(Boolean).map(([, number, text]) => ({ number: Number(number), text }));
}

function report(logs) {
  const said = [...results(logs)];
  const cases = listed();
  const problems = [];
  const known = new Set(cases.map(({ number }) => number));
  for (const { path, name, cases: carriedCases } of [...rust, ...script])
    for (const number of carriedCases) if (!known.has(number)) problems.push(`${path}: ${name} carries ${number}, which docs/cases.md does not list`);
  let tests = 0;
  for (const { number, text } of cases) {
    console.log(`\n${number}. ${text}`);
    const carriers = [...rust, ...script].filter((test) => test.cases.has(number));
    if (carriers.length === 0) problems.push(`case ${number} has no test`);
    for (const { path, name, pattern, exact } of carriers) {
      const runs = said.filter(([test]) => (exact === undefined ? pattern.test(test) : test === exact));
      if (runs.length === 0) problems.push(`case ${number}: ${path}: ${name} did not run`);
      const shown = exact === undefined ? `${modulePath(path)}::${name}` : `${path}: ${name}`;
      for (const [test, result] of runs) {
        const database = /::(sqlite|postgres)$/.exec(test)?.[1];
        console.log(`    ${result}  ${shown}${database === undefined ? '' : ` (${database})`}`);
        if (result !== 'passed') problems.push(`case ${number}: ${name} ${result}`);
        tests += 1;
      }
    }
  }
  console.log(`\ncases: ${cases.length}, each with its tests; ${tests} results`);
  for (const problem of problems) console.error(`cases: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

const [command, ...logs] = process.argv.slice(2);
if (command === 'filter') console.log(rust.map(({ pattern }) => `test(/${pattern.source.replace('(^|[\\s:])', '^')}/)`).join(' or '));
else if (command === 'report' && logs.length > 0) report(logs);
else {
  console.error('usage: cases.mjs filter | report LOG…');
  process.exitCode = 2;
}
