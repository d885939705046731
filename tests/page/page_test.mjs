// SPDX-License-Identifier: Apache-2.0
// node page_test.mjs SPLITWAVE CHROMIUM [FOLDER]: makes a report of predictions and opens its page in a headless browser. What
// a reader does is done: sorting, filtering, hovering, following a point to its record, by mouse and by keyboard, in light
// and dark, wide and narrow, on paper and without JavaScript. FOLDER keeps screenshots.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, after, afterEach } from "node:test";
import { pathToFileURL } from "node:url";
import { NoAnswer, startBrowser } from "./browser.mjs";

const [splitwave, chromium, shots] = process.argv.slice(2).map((one) => (one.includes("/") ? path.resolve(one) : one));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "splitwave-page-"));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Records: the figures of the papers predicted for two machines, and the same again as if measured, 5 % off. */
function makeReport() {
  const predicted = execFileSync(splitwave, ["simulate", "-w", "figures", "--gpu", "h200,a100", "--json"], { maxBuffer: 1 << 28 }).toString();
  const measured = predicted.trim().split("\n").map((line) => JSON.parse(line)).filter((one) => one.seconds && one.machine === "h200")
    .map(({ breakdown, traffic, energy, occupancy, ...one }) => ({ ...one, executor: "cuda", seconds: one.seconds * 1.05 }));
  fs.writeFileSync(path.join(folder, "predicted.jsonl"), predicted);
  fs.writeFileSync(path.join(folder, "measured.jsonl"), measured.map((one) => `${JSON.stringify(one)}\n`).join(""));
  execFileSync(splitwave, ["report", "predicted.jsonl", "measured.jsonl", "--out", "page"], { cwd: folder });
  return pathToFileURL(path.join(folder, "page", "report.html")).href;
}

const url = makeReport();
const browser = await startBrowser(chromium);
after(() => browser.close());
const tabs = [];
afterEach(async () => {
  for (const tab of tabs.splice(0)) await tab.close().catch(() => {});
});

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(tab, condition, what) {
  for (let i = 0; i < 300; ++i) {
    if (await tab.evaluate(condition)) return;
    // A browser that puts its first window before the tab, or is busy, gives it no frames, and with these no word of
    // what came near. A picture needs a frame, and may wait for it in vain.
    if (i % 10 === 9) {
      await tab.send("Page.bringToFront");
      await Promise.race([tab.send("Page.captureScreenshot", { clip: { x: 0, y: 0, width: 1, height: 1, scale: 1 } }).catch(() => {}), pause(2000)]);
    }
    await pause(100);
  }
  const seen = await tab.evaluate("document.visibilityState");
  assert.fail(`${what}: ${condition}; the page is ${seen}; ${tab.problems.join('; ')}`);
}

/** Scrolls through the page, so that every figure is drawn. */
async function drawAll(tab) {
  const count = await tab.evaluate("document.querySelectorAll('.plot').length");
  for (let i = 0; i < count; ++i) {
    const plot = `document.querySelectorAll('.plot')[${i}]`;
    // Again and again: what is drawn above moves it.
    await until(tab, `(${plot}.scrollIntoView(), ${plot}.dataset.live === 'yes')`, `figure ${i} is drawn`);
  }
  return count;
}

async function opened(width = 1600, scheme = "light") {
  const tab = await browser.tab();
  tabs.push(tab);
  await tab.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
  await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await tab.open(url);
  return tab;
}

async function shot(tab, name) {
  if (!shots) return;
  fs.mkdirSync(shots, { recursive: true });
  const { data } = await tab.send("Page.captureScreenshot", { captureBeyondViewport: name.startsWith("page") });
  fs.writeFileSync(path.join(shots, `${name}.png`), Buffer.from(data, "base64"));
}

async function pressed(tab, key, code) {
  for (const type of ["keyDown", "keyUp"]) {
    await tab.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code, text: key === "Enter" ? "\r" : undefined });
  }
}

/** Cells of a column of the records' table. */
const column = (tab, heading) => tab.evaluate(`(() => {
  const headings = [...document.querySelectorAll('#record-table th')].map((one) => one.textContent);
  const at = headings.findIndex((one) => one.startsWith(${JSON.stringify(heading)}));
  return [...document.querySelectorAll('#record-table tbody tr')].map((row) => row.cells[at].textContent);
})()`);
const heading = (text) => `[...document.querySelectorAll('#record-table th button')].find((one) => one.textContent === ${JSON.stringify(text)})`;

/** A test, once more with another tab if the browser gave one no answer, as it seldom does. */
function check(name, body) {
  test(name, () => body().catch((error) => {
    if (!(error instanceof NoAnswer)) throw error;
    return body();
  }));
}

/** Texts whose contrast with what is behind them is less than 4.5, with their ratio. */
async function poorContrasts(tab) {
  // WCAG 2.1, relative luminance and contrast ratio, against the page's own background.
  return tab.evaluate(`(() => {
    const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (one) => {
      for (let at = one; at; at = at.parentElement) {
        const back = rgb(getComputedStyle(at).backgroundColor);
        if (back.length === 3 || back[3] > 0) return back;
      }
      return [255, 255, 255];
    };
    const texts = [...document.querySelectorAll('h1, h2, h3, p, dt, dd, a, th, td, button, summary, li, code')].slice(0, 3000)
      .map((one) => [one, rgb(getComputedStyle(one).color)]);
    // Numbers of the heat map stand on coloured cells.
    const drawn = [...document.querySelectorAll('.plot:not([data-figure=heat_map]) svg text')].map((one) => [one, rgb(getComputedStyle(one).fill)]);
    return [...texts, ...drawn].filter(([one, colour]) => one.textContent.trim() !== '').flatMap(([one, colour]) => {
      const [a, b] = [light(colour), light(behind(one))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      return ratio < 4.5 ? [one.tagName + ' ' + one.textContent.slice(0, 40) + ' ' + ratio.toFixed(2)] : [];
    });
  })()`);
}

for (const [width, scheme] of [[1600, "light"], [400, "dark"]]) {
  check(`all figures are drawn without an error or a request, texts in contrast, ${width} pixels wide, ${scheme}`, async () => {
    const tab = await opened(width, scheme);
    const count = await drawAll(tab);
    assert.ok(count >= 10, `${count} figures`);
    await shot(tab, `page-${width}-${scheme}`);
    assert.deepEqual(tab.problems, []);
    assert.ok(await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out sideways");
    assert.deepEqual((await poorContrasts(tab)).slice(0, 10), []);
  });
}

check("records sort and filter", async () => {
  const tab = await opened();
  await tab.evaluate(`${heading("time (µs)")}.click()`);
  const times = (await column(tab, "time (µs)")).map(Number);
  assert.equal(times.length, 100);
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  await tab.evaluate(`${heading("time (µs)")}.click()`);
  const falling = (await column(tab, "time (µs)")).map(Number);
  assert.ok(falling[0] > times[0]);
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  assert.equal(await tab.evaluate("document.querySelector('#record-table th[aria-sort]').textContent"), "time (µs)");
  await tab.evaluate("(() => { const f = document.querySelector('#record-table input'); f.value = 'LEAN a100'; f.dispatchEvent(new Event('input')); })()");
  const schedules = await column(tab, "schedule");
  assert.ok(schedules.length > 0 && (await column(tab, "machine")).every((one) => one === "a100"));
  await tab.evaluate("(() => { const f = document.querySelector('#record-table input'); f.value = 'no such thing'; f.dispatchEvent(new Event('input')); })()");
  assert.equal(await tab.evaluate("document.querySelector('#record-table [role=status]').textContent"), "no record");
  assert.deepEqual(tab.problems, []);
});

check("a point shows its values and leads to its record", async () => {
  const tab = await opened();
  await drawAll(tab);
  await tab.evaluate("document.getElementById('figure-speed_up_by_context').scrollIntoView()");
  const { x, y } = await tab.evaluate(`(() => {
    const points = document.querySelectorAll('#figure-speed_up_by_context .mark-symbol.role-mark path');
    const box = [...points].map((one) => one.getBoundingClientRect()).find((one) => one.width > 3 && one.top > 0 && one.bottom < innerHeight);
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  })()`);
  await tab.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
  await until(tab, "document.getElementById('hover') !== null", "the values are shown");
  const said = await tab.evaluate("document.getElementById('hover').textContent");
  for (const part of ["workload", "schedule", "context", "speed-up"]) assert.ok(said.includes(part), said);
  await shot(tab, "hover");
  for (const type of ["mousePressed", "mouseReleased"]) await tab.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  await until(tab, "document.querySelector('tr.found') !== null", "the record is marked");
  await shot(tab, "found");
  const workload = await tab.evaluate("document.querySelector('tr.found').cells[0].textContent");
  assert.ok(said.includes(workload), `${workload} of ${said}`);
  assert.deepEqual(tab.problems, []);
});

check("a record leads to its timeline", async () => {
  const tab = await opened();
  await until(tab, "document.querySelector('#record-table') !== null && document.querySelector('#timelines') !== null", "the page is there");
  const summaries = await tab.evaluate("[...document.querySelectorAll('.timeline > summary')].map((one) => one.textContent)");
  assert.ok(summaries.length > 0 && summaries.length <= 6, `${summaries.length} timelines`);
  const [workload, machine] = summaries[0].split(" on ");
  await tab.evaluate(`(() => { const f = document.querySelector('#record-table input'); f.value = ${JSON.stringify(`${workload} ${machine}`)}; f.dispatchEvent(new Event('input')); })()`);
  await tab.evaluate(`[...document.querySelectorAll('#record-table tbody a')].find((one) => one.textContent === ${JSON.stringify(workload)}).click()`);
  await until(tab, "document.activeElement.id === 'timeline-0' && document.activeElement.closest('details').open", "the timeline opens");
  assert.ok(await tab.evaluate("document.activeElement.getBoundingClientRect().height > 100"), "its picture is seen");
  await tab.evaluate("document.querySelector('.timeline details').open = true");
  assert.ok((await tab.evaluate("document.querySelector('.timeline pre').textContent")).includes("Time, averaged over CTA slots"));
  await shot(tab, "timeline");
  assert.deepEqual(tab.problems, []);
});

check("the keyboard reaches headings, filter and pages", async () => {
  const tab = await opened();
  await tab.evaluate("document.querySelector('#record-table input').focus()");
  await pressed(tab, "Tab", 9);
  await until(tab, "document.activeElement.textContent === 'Next'", "the tabulator goes on to the next page's button");
  await pressed(tab, "Enter", 13);
  assert.ok((await tab.evaluate("document.querySelector('#record-table [role=status]').textContent")).startsWith("101 to 200 of "));
  await tab.evaluate(`${heading("schedule")}.focus()`);
  await pressed(tab, "Enter", 13);
  assert.equal(await tab.evaluate("document.querySelector('#record-table th[aria-sort]').textContent"), "schedule");
});

check("on paper every figure is there, and no controls", async () => {
  const tab = await opened();
  await tab.send("Emulation.setEmulatedMedia", { media: "print" });
  assert.equal(await tab.evaluate("getComputedStyle(document.querySelector('.controls')).display"), "none");
  assert.equal(await tab.evaluate("[...document.querySelectorAll('.plot')].filter((one) => one.querySelector('svg') === null).length"), 0);
  const { data } = await tab.send("Page.printToPDF", {});
  assert.ok(Buffer.from(data, "base64").length > 10_000);
});

check("without JavaScript figures and tables are there", async () => {
  const tab = await opened();
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.open(url);
  await shot(tab, "no-javascript");
  const { root } = await tab.send("DOM.getDocument", { depth: 0 });
  const count = async (selector) => (await tab.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector })).nodeIds.length;
  assert.ok((await count(".plot svg")) >= 10);
  assert.ok((await count("#record-table tbody tr")) >= 300);
  assert.ok((await count("#summary tbody tr")) >= 5);
});
