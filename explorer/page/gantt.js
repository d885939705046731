// SPDX-License-Identifier: Apache-2.0
// Who works when: a panel per schedule over one time axis, a row per CTA slot.
"use strict";

class Gantt {
  constructor(canvas, tell) {
    this.canvas = canvas;
    this.tell = tell;  // called with words about a bar
    this.panels = [];
    this.chosen = -1;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("keydown", (event) => this.walk(event));
  }

  /** Lays the panels out and draws them, over one time axis or each over its own width. Numbers as of
   *  Simulator.predict. */
  draw(answer, theme, oneAxis) {
    this.numbers = answer.numbers;
    const shown = answer.panels.map((panel, index) => ({ ...panel, index })).filter((panel) => panel.rows > 0);
    const most = Math.max(...shown.map((panel) => panel.record.seconds), 1e-9);
    const rowHeight = (rows) => Math.min(14, Math.max(0.5, (globalThis.innerWidth < 700 ? 110 : 150) / rows));
    let top = 4;
    this.panels = shown.map((panel) => {
      const height = Math.max(24, panel.rows * rowHeight(panel.rows));
      const placed = { ...panel, top: top + 16, height, rowHeight: height / panel.rows };
      top += 16 + height + 8;
      return placed;
    });
    const { context, width } = cleared(this.canvas, top + 34);
    this.left = 2;
    for (const panel of this.panels) {
      panel.scale = (width - this.left - 12) / (oneAxis ? most : panel.record.seconds);
      this.drawPanel(context, panel, theme);
    }
    if (oneAxis) this.drawAxis(context, (width - this.left - 12) / most, most, top, width, theme);
    if (this.chosen >= this.numbers.length / spanNumbers) this.chosen = -1;
    if (this.chosen >= 0) this.frame(context, theme);
  }

  drawPanel(context, panel, theme) {
    const { record } = panel;
    context.fillStyle = theme.slot;
    context.fillRect(this.left, panel.top, record.seconds * panel.scale, panel.height);
    context.fillStyle = theme.text;
    context.textAlign = "left";
    const cut = panel.cut > 0 ? `, ${panel.cut} more spans not drawn` : "";
    context.fillText(`${record.chosen === undefined ? record.schedule : `auto: ${record.chosen}`}   ${timeWords(record.seconds)}, ` +
      `${record.ctas} CTAs on ${panel.rows} slots${cut}`, this.left, panel.top - 4);
    this.drawBars(context, panel, theme);
    context.strokeStyle = theme.line;
    context.strokeRect(this.left + 0.5, Math.round(panel.top) + 0.5, record.seconds * panel.scale, Math.round(panel.height));
  }

  drawBars(context, panel, theme) {
    const numbers = this.numbers;
    const gap = panel.rowHeight > 4 ? 1 : 0;
    for (let at = 0; at < numbers.length; at += spanNumbers) {
      if (numbers[at + 9] !== panel.index) continue;
      const merge = numbers[at + 8] === 1;
      const x = this.left + numbers[at + 1] * panel.scale;
      const wide = Math.max(0.4, (numbers[at + 2] - numbers[at + 1]) * panel.scale);
      const y = panel.top + numbers[at] * panel.rowHeight;
      context.globalAlpha = merge ? 1 : 1 - 0.13 * (numbers[at + 4] % 5);
      context.fillStyle = merge ? theme.merge : colours[numbers[at + 3] % colours.length];
      context.fillRect(x, y, wide - (wide > 3 ? 0.6 : 0), panel.rowHeight - gap);
      if (panel.rowHeight >= 11 && wide > 46 && !merge) {
        context.globalAlpha = 1;
        context.fillStyle = "#000000";
        context.fillText(`r${numbers[at + 3]} h${numbers[at + 4]}`, x + 3, y + panel.rowHeight - 3);
      }
    }
    context.globalAlpha = 1;
  }

  drawAxis(context, scale, most, top, width, theme) {
    context.fillStyle = theme.weak;
    context.strokeStyle = theme.line;
    for (const value of ticks(most, Math.floor(width / 110))) {
      const x = this.left + value * scale;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + 5);
      context.stroke();
      context.textAlign = value === 0 ? "left" : x > width - 40 ? "right" : "center";
      context.fillText(value === 0 ? "0" : timeWords(value), x, top + 18);
    }
  }

  frame(context, theme) {
    const place = this.place(this.chosen);
    if (place === null) return;
    context.lineWidth = 2;
    context.strokeStyle = theme.text;
    context.strokeRect(place.x - 1, place.y - 1, Math.max(3, place.wide) + 2, Math.max(3, place.high) + 2);
    context.lineWidth = 1;
  }

  place(index) {
    const at = index * spanNumbers;
    const panel = this.panels.find((one) => one.index === this.numbers[at + 9]);
    if (panel === undefined) return null;
    return { x: this.left + this.numbers[at + 1] * panel.scale, y: panel.top + this.numbers[at] * panel.rowHeight,
             wide: (this.numbers[at + 2] - this.numbers[at + 1]) * panel.scale, high: panel.rowHeight, panel };
  }

  words(index) {
    const [row, begin, end, request, head, , first, last, kind, panelIndex] =
      this.numbers.slice(index * spanNumbers, (index + 1) * spanNumbers);
    const panel = this.panels.find((one) => one.index === panelIndex);
    if (panel === undefined) return "";
    const slot = `${panel.record.schedule}: SM ${Math.floor(row / panel.slots_per_sm)}` +
      (panel.slots_per_sm > 1 ? `, slot ${row % panel.slots_per_sm}` : "");
    const time = `${timeWords(begin)} to ${timeWords(end)}`;
    if (kind === 1) return `${slot}, merge, ${time}`;
    return `${slot}, request ${request}, KV head ${head}, tokens ${first} to ${last}, ${time}`;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const panel = this.panels.find((one) => y >= one.top && y < one.top + one.height);
    if (panel === undefined) return;
    const row = Math.floor((y - panel.top) / panel.rowHeight);
    const seconds = (x - this.left) / panel.scale;
    for (let index = 0; index * spanNumbers < this.numbers.length; ++index) {
      const at = index * spanNumbers;
      if (this.numbers[at + 9] !== panel.index || this.numbers[at] !== row) continue;
      if (this.numbers[at + 1] <= seconds && seconds < this.numbers[at + 2]) this.choose(index);
    }
  }

  walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const count = this.numbers === undefined ? 0 : this.numbers.length / spanNumbers;
    if (step === undefined || count === 0) return;
    event.preventDefault();
    this.choose((this.chosen + step + count) % count);
  }

  choose(index) {
    this.chosen = index;
    this.tell(this.words(index));
  }
}
