// SPDX-License-Identifier: Apache-2.0
// Time along an axis: one question per value, asked between frames, so that the page stays live.
"use strict";

/** Values of an axis up to `most`: contexts on a logarithmic scale, batches and SMs evenly. */
function axisValues(axis, most) {
  if (axis === "context") return Array.from({ length: 53 }, (_, i) => contextOfStep(28 + i));
  return [...new Set(Array.from({ length: 72 }, (_, i) => Math.max(1, Math.round(((i + 1) * most) / 72))))];
}

/** The end of an axis, which stays where it is while its slider moves: twice the GPU's SMs, or a batch of 72, 144, ... */
function axisEnd(axis, batch, ownSms) {
  return axis === "sms" ? 2 * ownSms : 72 * 2 ** Math.max(0, Math.ceil(Math.log2(batch / 64)));
}

/** The state with the axis at a value. Of requests that are not alike, the longest has that context and the others their
 *  part of it; or there are so many of them, taken in turn. */
function stateAt(state, contexts, axis, value) {
  if (axis === "sms") return { ...state, sms: value };
  if (state.mode === "alike") return { ...state, [axis]: value };
  const longest = Math.max(...contexts);
  const lengths = axis === "context" ? contexts.map((context) => Math.max(1, Math.round((context * value) / longest)))
    : Array.from({ length: value }, (_, i) => contexts[i % contexts.length]);
  return { ...state, lengths: lengths.join(" ") };
}

/** Where a curve jumps: from one value to the next the time grows by over 3 % more than the work. More SMs are no more
 *  work. */
function cliffs(axis, values, times) {
  const found = [];
  for (let i = 1; i < times.length; ++i) {
    const work = axis === "sms" ? 1 : values[i] / values[i - 1];
    const ratio = times[i] / times[i - 1];
    if (ratio > 1.03 * work) found.push({ index: i, value: values[i], ratio });
  }
  return found;
}

class Curve {
  constructor(canvas, simulator, tell) {
    this.canvas = canvas;
    this.simulator = simulator;
    this.tell = tell;
    this.key = "";
  }

  /** Begins anew if what is asked changed. `ownSms`: of the GPU, of which the question asks for `sms`. */
  ask(state, sms, ownSms) {
    const alike = state.mode === "alike";
    const contexts = alike ? [] : contextsOf(state) ?? [];
    const now = { context: alike ? state.context : Math.max(1, ...contexts), batch: alike ? state.batch : contexts.length, sms };
    const most = axisEnd(state.axis, now.batch, ownSms);
    this.now = now[state.axis];
    const fixed = { ...state };
    if (alike || state.axis === "sms") delete fixed[state.axis];
    const key = JSON.stringify([fixed, most]);
    if (key === this.key) return;
    this.key = key;
    this.state = state;
    this.contexts = contexts;
    this.able = alike || state.axis === "sms" || contexts.length > 0;
    this.values = this.able ? axisValues(state.axis, most) : [];
    this.times = state.schedules.map(() => []);
    this.next = 0;
  }

  /** Asks for values until `until` (performance.now()). Returns whether something is left to ask. */
  work(until) {
    while (this.next < this.values.length && performance.now() < until) {
      const state = stateAt(this.state, this.contexts, this.state.axis, this.values[this.next]);
      const answer = this.simulator.predict(questionOf(state));
      const panels = answer.panels ?? [];
      this.times.forEach((times, i) => times.push(panels[i]?.record.seconds ?? NaN));
      this.next += 1;
    }
    return this.next < this.values.length;
  }

  draw(theme) {
    const { context, width } = cleared(this.canvas, 250);
    const known = this.times.flat().filter((time) => time > 0);
    if (!this.able || known.length === 0) {
      this.tell(this.able ? "" : "Of requests with several query tokens that are not alike there is a curve by SMs only.");
      return;
    }
    const [least, most] = [Math.min(...known), Math.max(...known)];
    const logs = { least: Math.log(least / 1.15), most: Math.log(most * 1.15) };
    const narrow = width < 500;
    const area = { left: 58, right: width - (narrow ? 8 : 110), top: 8, bottom: 216 };
    const logX = this.state.axis === "context";
    const at = (value) => (logX ? Math.log(value) : value);
    const ends = [at(this.values[0]), at(this.values.at(-1))];
    const x = (value) => area.left + ((at(value) - ends[0]) / (ends[1] - ends[0])) * (area.right - area.left);
    const y = (time) => area.bottom - ((Math.log(time) - logs.least) / (logs.most - logs.least)) * (area.bottom - area.top);
    this.drawAxes(context, area, x, y, logs, theme);
    this.drawLines(context, area, x, y, narrow, theme);
  }

  drawAxes(context, area, x, y, logs, theme) {
    context.fillStyle = theme.weak;
    context.strokeStyle = theme.line;
    context.textAlign = "right";
    const decades = (logs.most - logs.least) / Math.LN10;
    const factors = decades > 2.6 ? [1] : decades > 1 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 7];
    for (let power = -8; power < 2; ++power) {
      for (const factor of factors) {
        const time = factor * 10 ** power;
        if (Math.log(time) < logs.least || Math.log(time) > logs.most) continue;
        context.beginPath();
        context.moveTo(area.left, y(time));
        context.lineTo(area.right, y(time));
        context.stroke();
        context.fillText(timeWords(time), area.left - 6, y(time) + 4);
      }
    }
    context.textAlign = "center";
    const powers = this.values.filter((value) => Number.isInteger(Math.log2(value) / 2));
    const marks = this.state.axis === "context" ? powers : ticks(this.values.at(-1), 6);
    for (const value of marks) {
      if (value > 0) context.fillText(this.state.axis === "context" ? tokenWords(value) : String(value), x(value), area.bottom + 16);
    }
    const words = { context: "tokens of context", batch: "requests", sms: "SMs" }[this.state.axis];
    context.fillText(words, (area.left + area.right) / 2, area.bottom + 32);
    context.setLineDash([4, 4]);
    context.strokeStyle = theme.text;
    context.beginPath();
    context.moveTo(x(this.now), area.top);
    context.lineTo(x(this.now), area.bottom);
    if (x(this.now) >= area.left && x(this.now) <= area.right) context.stroke();
    context.setLineDash([]);
  }

  drawLines(context, area, x, y, narrow, theme) {
    const words = [];
    const labels = [];
    context.lineWidth = 2;
    this.times.forEach((times, i) => {
      context.strokeStyle = colours[i % colours.length];
      context.setLineDash([[], [8, 3], [2, 3], [10, 3, 2, 3]][Math.floor(i / 2) % 4]);
      context.beginPath();
      let drawing = false;
      times.forEach((time, j) => {
        if (!(time > 0)) return void (drawing = false);
        context[drawing ? "lineTo" : "moveTo"](x(this.values[j]), y(time));
        drawing = true;
      });
      context.stroke();
      const found = cliffs(this.state.axis, this.values, times);
      context.setLineDash([]);
      for (const cliff of found) {
        context.beginPath();
        context.arc(x(cliff.value), y(times[cliff.index]), 3.5, 0, 7);
        context.stroke();
      }
      const name = this.state.schedules[i];
      if (found.length > 0) {
        words.push(`${name} at ${found.slice(0, 6).map((one) => `${one.value} (+${Math.round(100 * (one.ratio - 1))} %)`).join(", ")}` +
          (found.length > 6 ? ` and ${found.length - 6} more` : ""));
      }
      const last = times.findLastIndex((time) => time > 0);
      if (last >= 0) labels.push({ name, colour: colours[i % colours.length], x: x(this.values[last]), y: y(times[last]) });
    });
    context.lineWidth = 1;
    if (!narrow) this.drawLabels(context, labels, area, theme);
    const names = narrow ? `${labels.map((label) => label.name).join(", ")}. ` : "";
    this.tell(this.next < this.values.length ? `${names}Asking: ${this.next} of ${this.values.length} values.`
      : names + (words.length > 0 ? `Cliffs: ${words.join("; ")}.` : "No cliffs."));
  }

  /** Names beside the lines' ends, moved apart where they would overlap. */
  drawLabels(context, labels, area, theme) {
    labels.sort((a, b) => a.y - b.y);
    let least = area.top + 4;
    for (const label of labels) {
      label.at = Math.max(label.y + 4, least);
      least = label.at + 14;
    }
    const over = Math.max(0, least - 14 - area.bottom);
    context.textAlign = "left";
    for (const label of labels) {
      context.fillStyle = label.colour;
      context.fillRect(label.x + 6, label.at - over - 8, 8, 8);
      context.fillStyle = theme.text;
      context.fillText(label.name, label.x + 18, label.at - over);
    }
  }
}

if (typeof module !== "undefined") module.exports = { cliffs };
