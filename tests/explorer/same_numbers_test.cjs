// SPDX-License-Identifier: Apache-2.0
// same_numbers_test.cjs PROGRAM.js SPLITWAVE EXPLORER_FOLDER: the program of the page gives the numbers of the binary,
// to 1e-12, for 250 random questions that have an answer; and the state's command line and link stand for the state.
"use strict";

const assert = require("node:assert");
const { execFile } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");
const { promisify } = require("node:util");

const [programFile, splitwave, folder] = process.argv.slice(2);
const create = require(path.resolve(programFile));
const { Simulator } = require(path.resolve(folder, "page/simulator.js"));
const states = require(path.resolve(folder, "page/state.js"));
const kQuestions = 250;

/** Numbers from 0 to 1 that are the same each time (Mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

function randomState(random, catalogue) {
  const whole = (least, most) => Math.floor(least + random() * (most - least + 1));
  const among = (list) => list[whole(0, list.length - 1)];
  const state = { ...states.defaults };
  if (random() < 0.3) {
    const kvHeads = among([1, 2, 4, 8]);
    state.model = "";
    state.geometry = `h=${kvHeads * among([1, 2, 4, 8])}/${kvHeads},d=${among([64, 128, 256])}` +
      among(["", ",dtype=bf16", ",page=16", ",window=1024"]);
  } else {
    state.model = among(catalogue.models).name;
    if (random() < 0.3) state.tp = 2;
  }
  if (random() < 0.5) {
    [state.batch, state.query, state.context] = [whole(1, 40), among([1, 1, 1, 2, 4]), among([1, 2, 3]) * 2 ** whole(4, 15)];
  } else {
    state.mode = "lengths";
    state.lengths = Array.from({ length: whole(1, 24) }, () => Math.round(2 ** (4 + 12 * random()))).join(", ");
  }
  state.gpu = among(catalogue.gpus).name;
  if (random() < 0.4) state.sms = whole(1, 300);
  if (random() < 0.3) state.bandwidth = whole(200, 12000);
  state.schedules = [among([...catalogue.compared, "fixed-split:3", "flashinfer-holistic", "flashmla", "xqa", "fa3:2", "auto",
                            "lean+kernel"])];
  return state;
}

/** Every number of one is a number of the other, up to 1e-12 of its size, and every text the same. Parts that add up to a
 *  whole, such as those of a breakdown, are as exact as the whole is. */
function assertSame(mine, theirs, where, whole = 0) {
  if (typeof mine === "number" && typeof theirs === "number") {
    assert.ok(Math.abs(mine - theirs) <= 1e-12 * Math.max(Math.abs(theirs), whole), `${where}: ${mine} and ${theirs}`);
  } else if (typeof mine === "object" && typeof theirs === "object") {
    assert.deepStrictEqual(Object.keys(mine), Object.keys(theirs), where);
    const sum = whole === null ? 0 : Object.values(theirs).reduce((all, one) => all + (typeof one === "number" ? one : 0), 0);
    for (const key of Object.keys(mine).filter((name) => name !== "commit")) {
      assertSame(mine[key], theirs[key], `${where}.${key}`, sum);
    }
  } else {
    assert.strictEqual(mine, theirs, where);
  }
}

/** The words of a command line in the form that shellWord writes. */
function wordsOf(command) {
  return [...command.matchAll(/(?:'[^']*'|\\'|[^\s'\\])+/g)].map(([word]) => word.replace(/'([^']*)'|\\(')/g, "$1$2"));
}

/** Asks both. Returns whether there was a time. */
async function compare(simulator, state) {
  const answer = simulator.predict(states.questionOf(state, { spans: true }));
  const [, ...words] = wordsOf(states.commandOf(state, "simulate", " --json"));
  let line;
  try {
    line = (await promisify(execFile)(splitwave, words)).stdout;
  } catch (error) {
    // The binary refuses a single point that cannot run; the page says so in its place.
    assert.strictEqual(error.code, 2, error.stderr);
    assert.ok(answer.error !== undefined || answer.panels[0].record.failure !== undefined, `${words.join(" ")}: ${error.stderr}`);
    return false;
  }
  assert.strictEqual(answer.error, undefined, words.join(" "));
  const [panel] = answer.panels;
  assertSame(panel.record, JSON.parse(line), words.join(" "), null);
  const ends = Array.from({ length: panel.spans }, (_, i) => answer.numbers[10 * i + 2]);
  const last = ends.reduce((most, end) => Math.max(most, end), 0);
  // Spans are predicted apart from the time, and where two events end at one time that shows (explorer/answers.cpp).
  assert.ok(last > 0 && last <= panel.record.seconds * (1 + 1e-5), `${words.join(" ")}: spans end at ${last}`);
  return true;
}

async function main() {
  const simulator = new Simulator(await create());
  const random = randomFrom(20260102);
  let asked = 0;
  let timed = 0;
  await Promise.all(Array.from({ length: os.cpus().length }, async () => {
    while (timed < kQuestions) {
      asked += 1;
      assert.ok(asked < 10 * kQuestions, `only ${timed} of ${asked} questions have a time`);
      const state = randomState(random, simulator.catalogue);
      assert.deepStrictEqual(states.questionOf(states.stateOfFragment(states.fragmentOf(state))), states.questionOf(state));
      timed += (await compare(simulator, state)) ? 1 : 0;
    }
  }));

  assert.strictEqual(simulator.predict({ workload: "llama-3-8b:1q1s1k", gpu: "cpu", schedules: ["lean"] }).error,
    "gpu: cpu cannot be measured in a browser; allowed: the GPUs");
  for (const bad of ["", "{", "[]", "{\"workload\":1}", "{\"x\":2}"]) assert.ok("error" in simulator.call("_splitwave_predict", bad), bad);
  assert.deepStrictEqual(simulator.trace("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,4808,10\n").requests,
    [[4808, 10]]);
  assert.ok("error" in simulator.trace("nothing"));

  assert.strictEqual(states.batchOf({ mode: "lengths", lengths: "5 5, 7;5" }), "2q1s5_1q1s7_1q1s5");
  assert.strictEqual(states.batchOf({ mode: "lengths", lengths: "8q1s4k 1q1s128k" }), "8q1s4k_1q1s128k");
  assert.deepStrictEqual(states.contextsOf({ mode: "lengths", lengths: "2q1s4k 1q1s17" }), [4096, 4096, 17]);
  assert.strictEqual(states.contextsOf({ mode: "lengths", lengths: "2q2s4k" }), null);
  assert.strictEqual(states.shellWord("it's $(x)"), "'it'\\''s $(x)'");
  assert.strictEqual(states.stateOfFragment("#axis=evil&sms=-3&batch=x&mode=<b>").axis, "context");
  console.log(`${timed} of ${asked} questions have a time, and the same one; the others are refused by both`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
