// SPDX-License-Identifier: Apache-2.0
// The C++ program behind three calls.
"use strict";

/** Numbers per span, as kSpanNumbers of explorer/answers.h: row, begin, end, request, head, output, first and last KV
 *  token, kind, panel. */
const spanNumbers = 10;

class Simulator {
  constructor(program) {
    this.program = program;
    this.catalogue = JSON.parse(program.UTF8ToString(program._splitwave_catalogue()));
  }

  call(name, text) {
    const size = this.program.lengthBytesUTF8(text) + 1;
    const address = this.program._malloc(size);
    this.program.stringToUTF8(text, address, size);
    const answer = JSON.parse(this.program.UTF8ToString(this.program[name](address)));
    this.program._free(address);
    return answer;
  }

  /** The answer of explorer/answers.h; `spans` are copies, which the next question leaves as they are. */
  predict(question) {
    const answer = this.call("_splitwave_predict", JSON.stringify(question));
    const begin = this.program._splitwave_spans() / 8;
    answer.numbers = this.program.HEAPF64.slice(begin, begin + this.program._splitwave_span_numbers());
    return answer;
  }

  trace(text) {
    return this.call("_splitwave_trace", text);
  }
}

if (typeof module !== "undefined") module.exports = { Simulator, spanNumbers };
