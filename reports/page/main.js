// SPDX-License-Identifier: Apache-2.0
// One bundle for both places: Node renders figures to SVG, a browser makes the page live.
import { renderFromStandardInput } from "./render.js";
import { startPage } from "./page.js";

if (typeof document === "undefined") {
  renderFromStandardInput();
} else {
  startPage();
}
