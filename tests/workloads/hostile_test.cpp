// SPDX-License-Identifier: Apache-2.0
// Files that somebody got wrong, or made to do harm. Each is refused with one line that names where and what.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

using tests::expect_refused;

// A good file with one value replaced.
std::string with(const std::string& place, const std::string& replacement) {
  std::string text = R"({"format": 1, "name": "n", "geometry": {"query_heads": 8, "kv_heads": 2, "head_dim": 64},)"
                     R"( "requests": [{"query_len": 1, "context_len": 4096, "count": 2}], "kv": {"layout": "bshd"},)"
                     R"( "seed": 7})";
  const std::size_t at = text.find(place);
  EXPECT_NE(at, std::string::npos) << place;
  return text.replace(at, place.size(), replacement);
}

void refused(const std::string& text, std::initializer_list<const char*> parts) {
  expect_refused([&] { parse_json(text, "w.json"); }, parts);
  expect_refused([&] { parse_json(text, "w.json"); }, {"w.json"});
}

TEST(Hostile, TheUntouchedFileIsGood) {
  EXPECT_EQ(parse_json(with("\"n\"", "\"n\""), "w.json").size(), 1U);
}

TEST(Hostile, NoJson) {
  refused("", {"no JSON"});
  refused(" \r\n\t", {"no JSON"});
  refused("\xef\xbb\xbf", {"JSON"});
  refused("{\"format\": 1, \"na", {"no valid JSON at byte"});
  refused("// comment\n{}", {"no valid JSON"});
  refused(std::string("{\"a\0b\": 1}", 10), {"no valid JSON"});
  refused("{\"name\": \"\xff\xfe\"}", {"no valid JSON"});
  refused(
      "\x7f"
      "ELF\x02\x01",
      {"no valid JSON"});
  refused(with("}", "} trailing"), {"no valid JSON"});
  refused("{\"format\": 1} {\"format\": 1}", {"no valid JSON"});
  for (const char* literal : {"NaN", "nan", "Infinity", "-inf", "0x10", "+1", "01", ".5", "1.", "4096abc", "'4096'"}) {
    refused(with("4096", literal), {"no valid JSON"});
  }
}

TEST(Hostile, OtherDocuments) {
  refused("[]", {"the document is an array", "an object"});
  refused("42", {"the document is 42"});
  refused("null", {"the document is null"});
  refused("\"text\"", {"the document is \"text\""});
}

TEST(Hostile, DeepNesting) {
  for (const std::size_t depth : {33UL, 100'000UL, 3'000'000UL}) {
    refused(std::string(depth, '['), {"nested more than 32 levels"});
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
    refused(objects, {"nested more than 32 levels"});
  }
}

TEST(Hostile, UnknownAndDuplicateKeys) {
  refused(with("\"seed\"", "\"sed\""), {"unknown key sed", "did you mean seed?"});
  refused(with("\"head_dim\"", "\"head_dims\""), {"unknown key geometry.head_dims", "did you mean head_dim?"});
  refused(with("\"count\"", "\"xyzzyqwert\""), {"unknown key requests[0].xyzzyqwert", "query_len, context_len, count"});
  refused(with("\"layout\"", "\"page\": 1, \"layout\""), {"unknown key kv.page", "page_size"});
  refused(with("\"seed\"", "\"name\": \"m\", \"seed\""), {"key \"name\" appears twice"});
  refused(with("\"kv_heads\"", "\"query_heads\": 8, \"kv_heads\""), {"key \"query_heads\" appears twice"});
  refused(with("\"seed\"", "\"\\u0000\\n\\u001b[31m\": 1, \"seed\""), {"unknown key \\x00\\x0a\\x1b[31m"});
  refused(with("\"seed\"", "\"" + std::string(100'000, 'k') + "\": 1, \"seed\""), {"unknown key kkkk", "..."});
}

TEST(Hostile, MissingKeys) {
  refused(with("\"format\": 1, ", ""), {"format is missing"});
  refused(with("\"name\": \"n\", ", ""), {"name is missing"});
  refused(with("\"head_dim\": 64", "\"dtype\": \"f16\""), {"geometry.head_dim is missing"});
  refused(with(", \"context_len\": 4096", ""), {"requests[0].context_len is missing"});
  refused(R"({"format": 1, "name": "n", "requests": []})", {"geometry or model is missing"});
  refused(R"({"format": 1, "name": "n", "model": "llama-3-8b"})", {"needs either requests or generate"});
  refused(R"({"format": 1, "suite": "s"})", {"workloads is missing"});
  refused(R"({"format": 1, "workloads": []})", {"suite is missing"});
}

TEST(Hostile, OtherVersions) {
  for (const char* version : {"0", "2", "-1", "1.0", "\"1\"", "true", "99999999999999999999"}) {
    refused(with("\"format\": 1", std::string("\"format\": ") + version), {"format is ", "an integer from 1 to 1"});
  }
}

TEST(Hostile, NumbersThatAreNoIntegersInRange) {
  for (const char* number :
       {"-1", "1.5", "1e3", "4096.0", "\"4096\"", "true", "[4096]", "{}", "1073741825", "2147483648", "4294967296",
        "4294967297", "9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e308"}) {
    refused(with("4096", number), {"requests[0].context_len is ", "an integer from 0 to 1073741824"});
  }
  refused(with("4096", "1e999"), {"1e999", "out of range"});
  refused(with("4096", std::string(10'000, '9')), {"out of range", "..."});
  for (const char* number : {"0", "-1", "1048577", "2147483649"}) {
    refused(with("\"query_len\": 1", std::string("\"query_len\": ") + number), {"requests[0].query_len", number});
    refused(with("\"count\": 2", std::string("\"count\": ") + number), {"requests[0].count", number});
  }
  for (const char* number : {"-1", "0.5", "1e3", "18446744073709551616", "\"7\""}) {
    refused(with("\"seed\": 7", std::string("\"seed\": ") + number), {"seed is ", "from 0 to 2^64 - 1"});
  }
}

TEST(Hostile, Shapes) {
  refused(with("\"query_heads\": 8", "\"query_heads\": 0"), {"geometry.query_heads is 0", "from 1 to 4096"});
  refused(with("\"kv_heads\": 2", "\"kv_heads\": 0"), {"geometry.kv_heads is 0"});
  refused(with("\"kv_heads\": 2", "\"kv_heads\": 3"), {"geometry.kv_heads is 3", "divisors of query_heads (8)"});
  refused(with("\"kv_heads\": 2", "\"kv_heads\": 16"), {"geometry.kv_heads is 16", "divisors of query_heads (8)"});
  for (const char* dim : {"0", "-64", "1032", "65536"}) {
    refused(with("\"head_dim\": 64", std::string("\"head_dim\": ") + dim), {"geometry.head_dim is ", dim});
  }
  refused(with("\"head_dim\": 64", "\"head_dim\": 100"), {"head_dim is 100", "multiples of 8 from 8 to 1024"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"kind\": \"mha\""), {"geometry.kv_heads is 2", "mha"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"kind\": \"mqa\""), {"geometry.kv_heads is 2", "mqa"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"kind\": \"mla\""), {"geometry.value_dim is missing"});
  refused(with("\"kv_heads\": 2, \"head_dim\": 64",
               "\"kv_heads\": 1, \"head_dim\": 64, \"kind\": \"mla\", \"value_dim\": 72"),
          {"geometry.value_dim is 72", "at most head_dim (64)"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"kind\": \"MHA\""), {"geometry.kind is \"MHA\"", "mha, gqa"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"dtype\": \"fp8_e4m3\""), {"fp8_e4m3", "f16, bf16, f32"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"dtype\": \"fp16\""), {"geometry.dtype is \"fp16\"", "f16"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"window\": 0"), {"geometry.window is 0"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"causal\": 1"), {"geometry.causal is 1", "true or false"});
  refused(with("\"head_dim\": 64", "\"head_dim\": 64, \"softmax_scale\": \"x\""), {"geometry.softmax_scale"});
}

TEST(Hostile, Storage) {
  refused(with("\"bshd\"", "\"paged\""), {"kv.page_size is missing"});
  refused(with("\"bshd\"", "\"paged\", \"page_size\": 0"), {"kv.page_size is 0"});
  refused(with("\"bshd\"", "\"bshd\", \"page_size\": 16"), {"kv.page_size is 16", "unless layout is paged"});
  refused(with("\"bshd\"", "\"sbhd\""), {"kv.layout is \"sbhd\"", "bshd, bhsd, paged"});
  refused(with("\"bshd\"", "\"bshd\", \"cache_len\": 4095"),
          {"requests[0].context_len is 4096", "at most kv.cache_len (4095)"});
}

TEST(Hostile, SumsAndProductsDoNotWrap) {
  refused(with("\"query_len\": 1, \"context_len\": 4096, \"count\": 2",
               "\"query_len\": 1048576, \"context_len\": 0, \"count\": 1048576"),
          {"the sum of query_len is 1099511627776"});
  refused(R"({"format": 1, "name": "n", "geometry": {"query_heads": 512, "kv_heads": 512, "head_dim": 1024},
              "requests": [{"context_len": 1073741824, "count": 1048576}]})",
          {"the size of K or V", "at most 1152921504606846976 bytes"});
  refused(R"({"format": 1, "name": "n", "geometry": {"query_heads": 4096, "kv_heads": 1, "head_dim": 64},
              "requests": [{"query_len": 1048576, "context_len": 1}]})",
          {"query tokens times query_heads is 4294967296", "2147483647"});
  refused(R"({"format": 1, "name": "n", "geometry": {"query_heads": 1, "kv_heads": 1, "head_dim": 8},
              "requests": [{"context_len": 1073741824, "count": 2}], "kv": {"layout": "paged", "page_size": 1}})",
          {"the number of pages is 2147483648"});
}

TEST(Hostile, ManyRequestsCostNeitherMemoryNorTime) {
  const auto begin = std::chrono::steady_clock::now();
  std::string list;
  for (int i = 0; i < 3; ++i) list += "{\"context_len\": 1, \"count\": 500000},";
  list += "{\"context_len\": 1}";
  refused(with("{\"query_len\": 1, \"context_len\": 4096, \"count\": 2}", list), {"requests holds more than 1048576"});
  std::string long_list = "{\"context_len\": 1}";
  for (int i = 0; i < 600'000; ++i) long_list += ",{\"context_len\": 1}";
  refused(with("{\"query_len\": 1, \"context_len\": 4096, \"count\": 2}", long_list),
          {"holds more than 1000000 values"});
  std::string keys = "{\"format\": 1";
  for (int i = 0; i < 400'000; ++i) keys += ",\"k" + std::to_string(i) + "\": 1";
  refused(keys + "}", {"unknown key k0"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST(Hostile, NamesAndNotes) {
  refused(with("\"n\"", "\"\""), {"name is empty"});
  refused(with("\"n\"", "7"), {"name is 7", "a text"});
  refused(with("\"n\"", "\"a\\nb\""), {"name is \"a\\x0ab\"", "control characters"});
  refused(with("\"n\"", "\"" + std::string(201, 'n') + "\""), {"name is ", "at most 200 bytes"});
  refused(with("\"seed\"", "\"note\": \"" + std::string(2001, 'n') + "\", \"seed\""), {"note is ", "at most 2000"});
}

TEST(Hostile, Models) {
  refused(R"({"format": 1, "name": "n", "model": "lama-3-8b", "requests": []})", {"model", "llama-3-8b"});
  refused(R"({"format": 1, "name": "n", "model": "llama-3-8b", "tensor_parallel": 5, "requests": []})",
          {"tensor_parallel is 5", "divisors of 32"});
  refused(with("\"seed\"", "\"tensor_parallel\": 2, \"seed\""), {"tensor_parallel is 2", "unless model is given"});
  refused(R"({"format": 1, "name": "n", "model": ")" + std::string(50'000, 'x') + R"(", "requests": []})", {"xxx..."});
}

TEST(Hostile, Generators) {
  const auto generate = [](const std::string& body) {
    return R"({"format": 1, "name": "n", "model": "llama-3-8b", "generate": )" + body + "}";
  };
  refused(generate("[]"), {"generate"});
  refused(generate("{}"), {"generate.kind is missing", "uniform, ragged"});
  refused(generate(R"({"kind": "normal"})"), {"generate.kind is \"normal\""});
  refused(generate(R"({"kind": "uniform", "batch": 2})"), {"generate.context_len is missing"});
  refused(generate(R"({"kind": "uniform", "batch": 0, "context_len": 1})"), {"generate.batch is 0"});
  refused(generate(R"({"kind": "uniform", "batch": 2, "context_len": 1, "ratio": 1})"), {"unknown key generate.ratio"});
  refused(generate(R"({"kind": "ragged", "batch": 4, "max_context_len": 100, "ratio": 0.1})"),
          {"w.json: generate: ratio is 0.1", "0.2575"});
  refused(generate(R"({"kind": "zipf", "batch": 1, "mean_context_len": 1073741825})"), {"mean_context_len"});
  refused(generate(R"({"kind": "zipf", "batch": 1000, "mean_context_len": 100000000, "exponent": 16})"),
          {"the longest context would have"});
  refused(generate(R"({"kind": "published", "batch": 4, "lengths": "azure"})"), {"lengths", "azure-2023-code"});
  refused(with("\"seed\"", R"("generate": {"kind": "uniform", "batch": 1, "context_len": 1}, "seed")"),
          {"either requests or generate"});
}

}  // namespace
}  // namespace splitwave::workloads
