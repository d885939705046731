// SPDX-License-Identifier: Apache-2.0
// validate() on values that no file was parsed for.
#include <gtest/gtest.h>

#include <limits>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

using Change = void (*)(Workload&);

void refused(Change change, std::initializer_list<const char*> parts) {
  Workload w = parse_spec("h=8/2,d=64:2q1s100");
  ASSERT_NO_THROW(validate(w));
  change(w);
  tests::expect_refused([&] { validate(w); }, parts);
}

TEST(Validate, EveryRuleFires) {
  refused([](Workload& w) { w.name.clear(); }, {"name is empty"});
  refused([](Workload& w) { w.name = "a\tb"; }, {"name is \"a\\x09b\""});
  refused([](Workload& w) { w.name = "\xff"; }, {"name is \"\\xff\""});
  refused([](Workload& w) { w.note = std::string(2001, 'a'); }, {"note is "});
  refused([](Workload& w) { w.geometry.query_heads = 4104; }, {"workload h=8/2,d=64:2q1s100: geometry.query_heads"});
  refused([](Workload& w) { w.geometry.kv_heads = 0; }, {"geometry.kv_heads is 0"});
  refused([](Workload& w) { w.geometry.kv_heads = 5; }, {"geometry.kv_heads is 5"});
  refused([](Workload& w) { w.geometry.head_dim = 60; }, {"geometry.head_dim is 60"});
  refused([](Workload& w) { w.geometry.value_dim = -8; }, {"geometry.value_dim is -8"});
  refused([](Workload& w) { w.geometry.kind = AttentionKind::mha; }, {"kind is mha"});
  refused([](Workload& w) { w.geometry.kind = AttentionKind::mla; }, {"kind is mla"});
  refused([](Workload& w) { w.geometry.dtype = Dtype::fp8_e5m2; }, {"fp8_e5m2"});
  refused([](Workload& w) { w.geometry.window = 0; }, {"geometry.window is 0"});
  refused([](Workload& w) { w.geometry.softmax_scale = std::numeric_limits<double>::quiet_NaN(); }, {"softmax_scale"});
  refused([](Workload& w) { w.geometry.softmax_scale = std::numeric_limits<double>::infinity(); }, {"softmax_scale"});
  refused([](Workload& w) { w.requests[1].query_len = 0; }, {"requests[1].query_len is 0"});
  refused([](Workload& w) { w.requests[1].context_len = -1; }, {"requests[1].context_len is -1"});
  refused([](Workload& w) { w.requests[0].context_len = (1 << 30) + 1; }, {"requests[0].context_len is 1073741825"});
  refused([](Workload& w) { w.requests.resize((1 << 20) + 1, {1, 1}); }, {"the number of requests is 1048577"});
  refused([](Workload& w) { w.kv.layout = KvLayout::paged; }, {"kv.page_size is 0"});
  refused([](Workload& w) { w.kv.page_size = 16; }, {"kv.page_size is 16"});
  refused([](Workload& w) { w.kv.cache_len = 99; }, {"requests[0].context_len is 100", "kv.cache_len (99)"});
}

TEST(Validate, OddButSoundWorkloadsPass) {
  Workload w = parse_spec("h=8/2,d=64:2q1s100");
  w.kv.cache_len = 100;  // no longer than the contexts
  EXPECT_NO_THROW(validate(w));
  w.requests.clear();
  EXPECT_NO_THROW(validate(w));
  w.requests = {{1, 0}, {5, 2}, {3, 3}};
  EXPECT_NO_THROW(validate(w));
  w.geometry.kv_heads = 1;  // kind gqa with one KV head
  EXPECT_NO_THROW(validate(w));
  w.geometry.softmax_scale = 0.0;
  EXPECT_NO_THROW(validate(w));
  w.geometry.window = 1;
  EXPECT_NO_THROW(validate(w));
  w.requests.assign(1 << 20, {1, 1});
  EXPECT_NO_THROW(validate(w));
}

}  // namespace
}  // namespace splitwave::workloads
