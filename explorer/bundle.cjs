// SPDX-License-Identifier: Apache-2.0
// bundle.cjs PAGE_FOLDER PROGRAM.js OUT.html: one file of the page, its style, its scripts and the program.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const [folder, program, out] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(folder, name), "utf8");
const scripts = ["words.js", "state.js", "simulator.js", "gantt.js", "curve.js", "page.js"].map(read).join("\n");
const parts = { STYLE: read("style.css"), PROGRAM: fs.readFileSync(program, "utf8"), PAGE: scripts };
for (const [name, text] of Object.entries(parts)) {
  if (/<\/script/i.test(text)) throw new Error(`${name} would end its own script`);
}
fs.writeFileSync(out, read("page.html").replace(/\/\*(STYLE|PROGRAM|PAGE)\*\//g, (_, name) => parts[name]));
