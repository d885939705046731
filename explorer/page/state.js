// SPDX-License-Identifier: Apache-2.0
// The state of the page as plain values: its workload as a one-line spec, its command line, and its link.
"use strict";

const defaults = {
  model: "llama-3-8b", geometry: "h=32/8,d=128", tp: 1, mode: "alike", batch: 8, context: 32768, query: 1, lengths: "",
  gpu: "h200", sms: 0, bandwidth: 0, schedules: ["fa2", "fixed-split:fa2", "fa3", "lean"], axis: "context", panels: "together",
};

/** Tokens of context at a step of the slider, four steps to an octave: 7 is 3.4 tokens, 60 is 32768. */
function contextOfStep(step) {
  return Math.round(2 ** (step / 4));
}

function stepOfContext(context) {
  return Math.round(4 * Math.log2(Math.max(1, context)));
}

/** The batch in vLLM's grammar. Lengths may be separated by anything but digits; requests of one length that follow
 *  one another are written once. */
function batchOf(state) {
  if (state.mode === "alike") return `${state.batch}q${state.query}s${state.context}`;
  const text = state.lengths.trim();
  if (/[qs]/.test(text)) return text.replace(/\s+/g, "_");
  const groups = [];
  for (const length of (text.match(/\d+/g) ?? []).map(Number)) {
    const last = groups.at(-1);
    if (last !== undefined && last.length === length) {
      last.count += 1;
    } else {
      groups.push({ count: 1, length });
    }
  }
  return groups.map(({ count, length }) => `${count}q1s${length}`).join("_");
}

/** The contexts of the requests, or nothing if they have several query tokens. */
function contextsOf(state) {
  const contexts = [];
  for (const segment of batchOf(state).split("_")) {
    const found = /^(\d*)q1s(\d+)(k?)$/.exec(segment);
    if (found === null) return null;
    const context = Number(found[2]) * (found[3] === "k" ? 1024 : 1);
    for (let i = 0; i < Number(found[1] || 1) && contexts.length < 65536; ++i) contexts.push(context);
  }
  return contexts;
}

function geometryOf(state) {
  if (state.model === "") return state.geometry.trim();
  return state.tp > 1 ? `${state.model}@tp=${state.tp}` : state.model;
}

/** The workload as -w takes it. */
function specOf(state) {
  return `${geometryOf(state)}:${batchOf(state)}`;
}

/** The question for the simulator (explorer/answers.h). */
function questionOf(state, more = {}) {
  const question = { workload: specOf(state), gpu: state.gpu, schedules: state.schedules, ...more };
  if (state.sms > 0) question.sms = state.sms;
  if (state.bandwidth > 0) question.bandwidth = state.bandwidth;
  return question;
}

/** A word as a shell takes it. */
function shellWord(word) {
  return /^[\w@=:,.\/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What of the command line stands for the state. */
function commandOf(state, verb, last = "") {
  const parts = ["splitwave", verb, "-w", specOf(state), "--gpu", state.gpu];
  if (state.sms > 0) parts.push("--sms", String(state.sms));
  if (state.bandwidth > 0) parts.push("--bandwidth", String(state.bandwidth));
  if (state.schedules.length > 0) parts.push("--schedule", state.schedules.join(","));
  return parts.map(shellWord).join(" ") + last;
}

/** The state as the fragment of a link; what is as it is at first is left out. */
function fragmentOf(state) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    const text = Array.isArray(value) ? value.join(",") : String(value);
    const first = Array.isArray(defaults[key]) ? defaults[key].join(",") : String(defaults[key]);
    if (key in defaults && text !== first) words.set(key, text);
  }
  return words.toString();
}

/** The state that a fragment stands for. What a link should not hold is as it is at first. */
function stateOfFragment(fragment) {
  const state = { ...defaults, schedules: [...defaults.schedules] };
  for (const [key, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!(key in defaults)) continue;
    if (Array.isArray(defaults[key])) {
      state[key] = text.split(",").filter((word) => word !== "");
    } else if (typeof defaults[key] === "number") {
      const number = Number(text);
      if (Number.isFinite(number) && number >= 0) state[key] = number;
    } else {
      state[key] = text;
    }
  }
  if (!["alike", "lengths"].includes(state.mode)) state.mode = "alike";
  if (!["context", "batch", "sms"].includes(state.axis)) state.axis = "context";
  return state;
}

if (typeof module !== "undefined") {
  module.exports = { defaults, batchOf, commandOf, contextOfStep, contextsOf, fragmentOf, questionOf, shellWord, specOf, stateOfFragment,
                     stepOfContext };
}
