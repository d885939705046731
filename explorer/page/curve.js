// SPDX-License-Identifier: Apache-2.0
// Time along an axis: one question per value, asked between frames, so that the page stays live.
"use strict";

/** Values of an axis: contexts and SM counts on a logarithmic scale, batches from 1 to twice what is asked. */
function axisValues(axis, state, sms) {
  const values = [];
  if (axis === "context") {
    for (let step = 28; step <= 80; ++step) values.push(contextOfStep(step));
  } else if (axis === "batch") {
    const most = Math.max(64, 2 * state.batch);
    for (let i = 1; i <= 64; ++i) values.push(Math.max(1, Math.round((i * most) / 64)));
  } else {
    const most = Math.max(2 * sms, 64);
    for (let i = 1; i <= 72; ++i) values.push(Math.max(1, Math.round((i * most) / 72)));
  }
  return [...new Set(values)];
}

/** The state with the axis at a value. Of requests that are not alike, a context axis scales all to that average. */
function stateAt(state, axis, value) {
  if (axis === "sms") return { ...state, sms: value };
  if (axis === "batch") return { ...state, mode: "alike", batch: value };
  return { ...state, mode: "alike", context: value };
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

  /** Begins anew if what is asked changed. */
  ask(state, sms) {
    const fixed = { ...state };
    delete fixed[state.axis];
    const key = JSON.stringify([fixed, sms]);
    this.now = state.axis === "sms" ? sms : state[state.axis];
    this.alike = state.mode === "alike" || state.axis === "sms";
    if (key === this.key) return;
    this.key = key;
    this.state = state;
    this.values = this.alike ? axisValues(state.axis, state, sms) : [];
    this.times = state.schedules.map(() => []);
    this.next = 0;
  }

  /** Asks for values until `until` (performance.now()). Returns whether something is left to ask. */
  work(until) {
    while (this.next < this.values.length && performance.now() < until) {
      const answer = this.simulator.predict(questionOf(stateAt(this.state, this.state.axis, this.values[this.next])));
      const panels = answer.panels ?? [];
      this.times.forEach((times, i) => times.push(panels[i]?.record.seconds ?? NaN));
      this.next += 1;
    }
    return this.next < this.values.length;
  }

  draw(theme) {
    const { context, width } = cleared(this.canvas, 250);
    const known = this.times.flat().filter((time) => time > 0);
    if (!this.alike || known.length === 0) {
      this.tell(this.alike ? "" : "For requests that are alike, or by SMs.");
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
    const factors = decades > 2.2 ? [1] : decades > 1 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 7];
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
