// SPDX-License-Identifier: Apache-2.0
// Vega-Lite specifications to SVG.
import * as vega from "vega";
import { compile } from "vega-lite";
import { useDejaVuMetrics } from "./metrics.js";

/** Runtime of Vega for a Vega-Lite specification; `config` overrides the specification's own. */
export function runtimeOf(specification, config) {
  const logger = { level: () => 0, error: console.error, warn: () => {}, info: () => {}, debug: () => {} };
  return vega.parse(compile(specification, { config, logger }).spec);
}

/** {figures: [{name, spec}]} on standard input; {name: SVG} on standard output. For Node. */
export async function renderFromStandardInput() {
  useDejaVuMetrics();
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const part of process.stdin) text += part;
  const drawn = {};
  for (const { name, spec } of JSON.parse(text).figures) {
    // Without a label on each of thousands of marks, which the figure as a whole has.
    const view = new vega.View(runtimeOf(spec, { aria: false }), { renderer: "none", logLevel: vega.Error });
    drawn[name] = await view.toSVG();
    view.finalize();
  }
  process.stdout.write(JSON.stringify(drawn));
}
