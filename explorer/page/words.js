// SPDX-License-Identifier: Apache-2.0
"use strict";

/** Okabe and Ito's colours, which colour-blind people tell apart. */
const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f"];

/** Parts of a breakdown with their colours, in the order of schedules/timeline.h. */
const partColours = { launch: "#7f7f7f", ramp: "#cc79a7", stream: "#0072b2", compute: "#d55e00", merge: "#009e73", wait: "#e69f00",
                      idle: "var(--idle)" };

function threeDigits(value) {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function timeWords(seconds) {
  if (seconds < 999.5e-6) return `${threeDigits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`;
  return `${threeDigits(seconds)} s`;
}

function byteWords(bytes) {
  if (bytes < 1e6) return `${threeDigits(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${threeDigits(bytes / 1e6)} MB` : `${threeDigits(bytes / 1e9)} GB`;
}

/** 32768 as "32k", 1000 as "1000". */
function tokenWords(tokens) {
  return tokens >= 1024 && tokens % 1024 === 0 ? `${tokens / 1024}k` : String(tokens);
}

/** An element with text, which is never read as HTML. */
function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== "") made.className = className;
  return made;
}

/** Round numbers for an axis from 0 to `most`, at most `count` + 1 of them. */
function ticks(most, count) {
  const rough = most / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const values = [];
  for (let i = 0; i * step <= most * (1 + 1e-9); ++i) values.push(i * step);
  return values;
}

/** The canvas's context, cleared, as wide as the page gives and `height` CSS pixels tall. */
function cleared(canvas, height) {
  const ratio = globalThis.devicePixelRatio ?? 1;
  const width = canvas.parentElement.clientWidth;
  const size = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) {
    [canvas.width, canvas.height] = size;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width };
}

/** The page's colours as they are now, light or dark. */
function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { text: of("--text"), weak: of("--weak"), line: of("--line"), slot: of("--slot"), merge: of("--merge"), back: of("--back") };
}
