// SPDX-License-Identifier: Apache-2.0
// Node has no fonts to measure text with. Text is laid out as DejaVu Sans, the widest of the fonts that figures name, so that
// nothing overlaps in the others.
import { textMetrics } from "vega";

/** Advance widths of the characters 32 to 126 of DejaVu Sans, thousandths of the font's size. */
const WIDTHS = [
  318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
  636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
  603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
  634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
const OTHERS = 640;
const BOLD = 1.1;

function width(item, text) {
  const line = String(text ?? "");
  let sum = 0;
  for (const letter of line) sum += WIDTHS[letter.codePointAt(0) - 32] ?? OTHERS;
  const bold = item.fontWeight === "bold" || item.fontWeight >= 600 ? BOLD : 1;
  return (sum / 1000) * (item.fontSize ?? 11) * bold;
}

export function useDejaVuMetrics() {
  textMetrics.width = width;
}
