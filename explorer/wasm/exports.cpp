// SPDX-License-Identifier: Apache-2.0
// What the page calls. Texts are UTF-8 and end in 0; an answer holds until the next call.
#include <emscripten/emscripten.h>

#include "explorer/answers.h"

namespace {

splitwave::explorer::Answer answer;

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* splitwave_catalogue() {
  answer = {splitwave::explorer::catalogue(), {}};
  return answer.json.c_str();
}

EMSCRIPTEN_KEEPALIVE const char* splitwave_predict(const char* question) {
  answer = splitwave::explorer::predict(question);
  return answer.json.c_str();
}

/// The numbers of the last answer's spans.
EMSCRIPTEN_KEEPALIVE const double* splitwave_spans() {
  return answer.spans.data();
}

EMSCRIPTEN_KEEPALIVE int splitwave_span_numbers() {
  return static_cast<int>(answer.spans.size());
}

EMSCRIPTEN_KEEPALIVE const char* splitwave_trace(const char* text) {
  answer = {splitwave::explorer::trace(text), {}};
  return answer.json.c_str();
}
}
