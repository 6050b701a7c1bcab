// Plays programs on xterm in its headless form. Each line of standard input is
// {cols, rows, steps: [{write} or {resize}]}; each line of output is what is
// shown then, or for {bench} how many seconds writing took.
'use strict';
const path = require('path');
const readline = require('readline');
const modules = path.join(process.argv[2], 'node_modules', '@xterm');
const { Terminal } = require(path.join(modules, 'headless'));
let unicode;
try { unicode = require(path.join(modules, 'addon-unicode11')); } catch (e) { unicode = null; }

function make(cols, rows) {
  const term = new Terminal({ cols, rows, allowProposedApi: true, scrollback: 1000, logLevel: 'off' });
  if (unicode) {
    term.loadAddon(new unicode.Unicode11Addon());
    term.unicode.activeVersion = '11';
  }
  return term;
}

// Errors of xterm's own come from timers, out of reach of a catch.
let failure = null;
let giveUp = () => {};
process.on('uncaughtException', e => { failure = String(e); giveUp(); });

const write = (term, bytes) => new Promise(done => { giveUp = done; term.write(bytes, done); });

async function play(program) {
  const term = make(program.cols, program.rows);
  for (const step of program.steps) {
    if (step.resize) term.resize(step.resize[0], step.resize[1]);
    else await write(term, Buffer.from(step.write, 'base64'));
  }
  if (failure) {
    const broke = failure;
    failure = null;
    return { broke, screen: [] };
  }
  const screen = [];
  const active = term.buffer.active;
  for (let y = 0; y < term.rows; y++) {
    screen.push(active.getLine(active.baseY + y).translateToString(true));
  }
  const shown = {
    screen, row: active.cursorY, col: Math.min(active.cursorX, term.cols - 1),
    hidden: term._core.coreService.isCursorHidden,
  };
  term.dispose();
  return shown;
}

async function bench(program) {
  const term = make(program.cols, program.rows);
  const bytes = require('fs').readFileSync(program.bench);
  const began = process.hrtime.bigint();
  for (let at = 0; at < bytes.length; at += 65536) await write(term, bytes.subarray(at, at + 65536));
  const took = Number(process.hrtime.bigint() - began) / 1e9;
  term.dispose();
  return { seconds: took };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const program = JSON.parse(line);
    const answer = await (program.bench ? bench(program) : play(program));
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
})();
