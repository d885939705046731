// SPDX-License-Identifier: Apache-2.0
// Properties over random workloads and random damage.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/embedded_file.h"
#include "base/error.h"
#include "workloads/data.h"
#include "workloads/import.h"
#include "workloads/limits.h"
#include "workloads/load.h"
#include "workloads/name.h"
#include "workloads/replay.h"

namespace splitwave::workloads {
namespace {

std::int32_t in(std::int64_t least, std::int64_t most) {
  return static_cast<std::int32_t>(*rc::gen::inRange<std::int64_t>(least, most + 1));
}

Geometry any_geometry() {
  Geometry g;
  g.kind = *rc::gen::element(AttentionKind::mha, AttentionKind::gqa, AttentionKind::mqa, AttentionKind::mla);
  const bool one_head = g.kind == AttentionKind::mqa || g.kind == AttentionKind::mla;
  g.kv_heads = one_head ? 1 : in(1, 64);
  g.query_heads = g.kind == AttentionKind::mha ? g.kv_heads : g.kv_heads * in(1, kMaxHeads / 64);
  g.head_dim = 8 * in(1, 128);
  g.value_dim = 8 * in(1, g.kind == AttentionKind::mla ? g.head_dim / 8 : 128);
  g.dtype = *rc::gen::element(Dtype::f16, Dtype::bf16, Dtype::f32);
  g.causal = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) g.window = in(1, kMaxContextLen);
  if (*rc::gen::arbitrary<bool>()) g.softmax_scale = *rc::gen::arbitrary<double>();
  return g;
}

Workload any_workload() {
  Workload w;
  w.name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')));
  w.note = *rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')) + "\xc3\xa9\xe2\x82\xac";
  w.geometry = any_geometry();
  const int requests = in(0, 20);
  for (int i = 0; i < requests; ++i) w.requests.push_back({in(1, 100), in(0, kMaxContextLen)});
  if (!w.requests.empty() && *rc::gen::arbitrary<bool>()) w.requests.push_back(w.requests.back());
  w.kv.layout = *rc::gen::element(KvLayout::bshd, KvLayout::bhsd, KvLayout::paged);
  if (w.kv.layout == KvLayout::paged) w.kv.page_size = in(64, kMaxPageSize);
  if (*rc::gen::arbitrary<bool>()) w.kv.cache_len = static_cast<std::int32_t>(kMaxContextLen);
  w.seed = *rc::gen::arbitrary<std::uint64_t>();
  w.distribution = *rc::gen::element(Distribution::normal, Distribution::outliers);
  return w;
}

RC_GTEST_PROP(RandomWorkloads, ParseOfPrintIsTheWorkload, ()) {
  const Workload workload = any_workload();
  const std::vector<Workload> again = parse_json(to_json(workload), "printed");
  RC_ASSERT(again.size() == 1U);
  RC_ASSERT(again.front() == workload);
}

// What the damaged text still means, if anything, must be a valid workload that prints and parses.
void parses_or_refuses(const std::string& text) {
  try {
    for (const Workload& workload : parse_json(text, "damaged")) {
      validate(workload);
      RC_ASSERT(parse_json(to_json(workload), "again").at(0) == workload);
    }
  } catch (const base::InputError& error) {
    const std::string message = error.what();
    RC_ASSERT(message.rfind("damaged", 0) == 0U);
    RC_ASSERT(message.size() < 700U);
    RC_ASSERT(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

std::string any_document() {
  if (*rc::gen::arbitrary<bool>()) return to_json(any_workload());
  const std::span<const base::EmbeddedFile> suites = suite_files();
  const std::string text(suites[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(suites.size()) - 1))].text);
  // One entry of a suite is enough, and quick.
  const std::string opening = "    {\n";
  const auto first = static_cast<std::int64_t>(text.find(opening));
  const std::size_t begin =
      text.rfind(opening, static_cast<std::size_t>(in(first, static_cast<std::int64_t>(text.size()) - 1)));
  const std::size_t end = text.find("    }", begin);
  return R"({"format": 1, "suite": "s", "workloads": [)" + text.substr(begin, end - begin) + "}]}";
}

std::size_t place_in(const std::string& text) {
  return static_cast<std::size_t>(in(0, static_cast<std::int64_t>(text.size()) - 1));
}

RC_GTEST_PROP(DamagedFiles, TruncatedAnywhere, ()) {
  const std::string text = any_document();
  parses_or_refuses(text.substr(0, place_in(text)));
}

RC_GTEST_PROP(DamagedFiles, SomeBytesChanged, ()) {
  std::string text = any_document();
  const int changes = in(1, 4);
  for (int i = 0; i < changes; ++i) text[place_in(text)] = static_cast<char>(in(-128, 127));
  parses_or_refuses(text);
}

RC_GTEST_PROP(DamagedFiles, DigitsAndPunctuationChanged, ()) {
  std::string text = any_document();
  const std::string pool = "0123456789-.eE\"{}[]:,nt ";
  const int changes = in(1, 6);
  for (int i = 0; i < changes; ++i) text[place_in(text)] = pool[place_in(pool)];
  parses_or_refuses(text);
}

RC_GTEST_PROP(DamagedFiles, PiecesMovedAbout, ()) {
  std::string text = any_document();
  const std::string other = any_document();
  const std::size_t begin = place_in(other);
  const std::string piece = other.substr(begin, static_cast<std::size_t>(in(1, 80)));
  const std::size_t at = place_in(text);
  if (*rc::gen::arbitrary<bool>()) {
    text.insert(at, piece);
  } else {
    text.replace(at, piece.size(), piece);
  }
  parses_or_refuses(text);
}

RC_GTEST_PROP(DamagedFiles, SpecsOfAnyCharacters, ()) {
  const std::string alphabet = "llama-3-8b@tp=2,h=32/8,d=128,page=16:q1s8k_0123456789";
  std::string spec = *rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
  if (*rc::gen::arbitrary<bool>()) spec = "h=8/2,d=64:" + spec;
  try {
    validate(parse_spec(spec));
  } catch (const base::InputError& error) {
    RC_ASSERT(std::string(error.what()).size() < 700U);
  }
}

// A list of any length is a workload with a name that files take; the name is the list itself where it fits.
RC_GTEST_PROP(LongSpecs, AreWorkloadsWithAShortName, ()) {
  std::string spec = "h=8/2,d=64:";
  std::size_t requests = 0;
  for (int segments = in(1, 60); segments > 0; --segments) {
    const std::int32_t count = in(1, 30);
    spec += std::to_string(count) + "q" + std::to_string(in(1, 9)) + "s" + std::to_string(in(0, 1 << 20));
    if (segments > 1) spec += '_';
    requests += static_cast<std::size_t>(count);
  }
  const Workload workload = parse_spec(spec);
  RC_ASSERT(workload.requests.size() == requests);
  RC_ASSERT((workload.name == spec) == (static_cast<std::int64_t>(spec.size()) <= kMaxNameLength));
  RC_ASSERT(parse_json(to_json(workload), "printed").at(0) == workload);
}

RC_GTEST_PROP(LongSpecs, AnyTextGivesANameThatIsAllowed, ()) {
  std::string text = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')));
  for (int pieces = in(0, 60); pieces > 0; --pieces) {
    text += *rc::gen::element<std::string>("_", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "long piece");
  }
  Workload workload = parse_spec("llama-3-8b:q1s1");
  workload.name = name_from(text, 1);
  validate(workload);
  RC_ASSERT(name_from(text + "x", 1) != workload.name);
}

RC_GTEST_PROP(DamagedFiles, ForeignFiles, ()) {
  std::string text = *rc::gen::element<std::string>(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.03,3180,8\n",
      "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n",
      R"({"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "sliding_window": 64})");
  const int changes = in(1, 5);
  for (int i = 0; i < changes; ++i) text[place_in(text)] = static_cast<char>(in(-128, 127));
  try {
    if (detect_format(text, "damaged") == ForeignFormat::hugging_face_config) {
      import_hugging_face_config(text, "damaged");
    } else {
      // What is read at all can be replayed, whatever its times and lengths are.
      const std::vector<TraceRequest> trace = import_trace(text, "damaged");
      const std::vector<DecodeStep> steps = sample_decode_steps(trace, {in(1, 4), 0.03}, 3, 0);
      RC_ASSERT(workloads_of_steps(parse_spec("llama-3-8b:q1s1"), steps).size() == steps.size());
    }
  } catch (const base::InputError& error) {
    RC_ASSERT(std::string(error.what()).rfind("damaged", 0) == 0U);
  }
}

}  // namespace
}  // namespace splitwave::workloads
