// SPDX-License-Identifier: Apache-2.0
// npy, safetensors and raw files: what is written is read back, and what lies about itself is refused by one line.
#include "base/array_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/error.h"

namespace splitwave::base {
namespace {

namespace fs = std::filesystem;

class ArrayFiles : public ::testing::Test {
 protected:
  ArrayFiles() {
    std::string name = (fs::temp_directory_path() / "splitwave_arrays_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ArrayFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  fs::path folder_;
};

std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  const std::size_t length = dictionary.size();
  bytes += {version, '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + dictionary + data;
}

std::string safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// The message that reading ends with.
template <typename Read>
std::string message_of(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

std::string content(const Array& array) {
  return {reinterpret_cast<const char*>(array.view.data),
          static_cast<std::size_t>(array.view.size() * bytes_per_element(array.view.type))};
}

TEST_F(ArrayFiles, NpyKeepsEveryTypeAndShape) {
  const std::string data = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL";  // 48 bytes
  for (const char* const name : {"f64", "f32", "f16", "bf16", "i64", "i32", "bool"}) {
    const ElementType type = *element_type(name);
    const std::int64_t count = 48 / bytes_per_element(type);
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{count}, {2, count / 2}, {1, count / 2, 2}, {count / 2, 2, 1, 1}}) {
      const std::string where = path("a.npy");
      fs::remove(where);
      write_npy(where, c_order_view(data.data(), type, shape));
      const Array back = read_npy(where);
      EXPECT_EQ(back.view.type, type) << name;
      EXPECT_EQ(back.view.shape, shape);
      EXPECT_EQ(content(back), data);
      EXPECT_EQ((fs::file_size(where) - 48) % 64, 0U);
    }
  }
}

TEST_F(ArrayFiles, NpyScalarsAndEmptyArraysAreArrays) {
  EXPECT_EQ(read_npy(file("s", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "abcd"))).view.size(), 1);
  EXPECT_EQ(read_npy(file("e", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", ""))).view.size(), 0);
}

TEST_F(ArrayFiles, NpyOtherVersionsAndKeyOrders) {
  const std::string header = "{\"shape\": (1,), 'fortran_order': True,'descr': '<i4'}   \n";
  for (const char version : {char{1}, char{2}, char{3}}) {
    EXPECT_EQ(read_npy(file("v", npy(header, "abcd", version))).view.type, ElementType::i32);
  }
}

TEST_F(ArrayFiles, NpySixteenBitIntegersAreBf16IfThatIsSaid) {
  const std::string where = file("u", npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", "abcd"));
  EXPECT_EQ(read_npy(where, ElementType::bf16).view.type, ElementType::bf16);
  EXPECT_NE(message_of([&] { read_npy(where); }).find("whose dtype is stated"), std::string::npos);
}

TEST_F(ArrayFiles, BadNpyIsRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"", "does not begin with"},
      {"PK\x03\x04 and so on", "does not begin with"},
      {npy(good, "1234567"), "takes 8 bytes, but 7 are there"},
      {npy(good, "123456789"), "takes 8 bytes, but 9 are there"},
      {npy(good, "12345678", 4), "npy format 4.0"},
      {npy(good, "").substr(0, 30), "ends within its header"},
      {npy(good, "").substr(0, npy(good, "").size() - 1), "ends within its header"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "header of 4294967295 bytes"},
      {npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "12345678"), "descr is >f4"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "12345678"), "descr is |O"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "12345678"), "text in quotes"},
      {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }", "12345678"), "Fortran order"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", "12345678"), "neither True nor False"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678"), "extent of shape"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", "12345678"), "no tuple"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ""), "extent of shape"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", ""), "too large"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", ""), "too large"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }", "12345678"), "more than 8 axes"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678"), "there twice"},
      {npy("{'descr': '<f4', 'fortran_order': False, }", "12345678"), "a key is missing"},
      {npy(good + "x", "12345678"), "something follows"},
      {npy("", "12345678"), "a { is missing"},
  };
  for (const auto& each : cases) {
    const std::string message = message_of([&] { read_npy(file("b.npy", each.bytes)); });
    EXPECT_NE(message.find(each.message), std::string::npos) << message << "\nexpected: " << each.message;
    EXPECT_NE(message.find("b.npy: "), std::string::npos) << message;
  }
  EXPECT_NE(message_of([&] { read_npy(path("none")); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(message_of([&] { read_npy(path("")); }).find("directory"), std::string::npos);
  EXPECT_NE(message_of([&] { read_npy("/dev/zero"); }).find("regular"), std::string::npos);
}

TEST_F(ArrayFiles, SafetensorsKeepNamesTypesAndValues) {
  const std::string data = "0123456789abcdef";
  const std::vector<std::pair<std::string, ArrayView>> tensors = {
      {"q", c_order_view(data.data(), ElementType::bf16, {2, 4})},
      {"context lens \"x\"", c_order_view(data.data(), ElementType::i32, {1})},
      {"empty", c_order_view(data.data(), ElementType::f64, {0})}};
  write_safetensors(path("t"), tensors);
  const std::vector<NamedArray> back = read_safetensors(path("t"));
  ASSERT_EQ(back.size(), tensors.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, tensors[i].first);
    EXPECT_EQ(back[i].array.view.type, tensors[i].second.type);
    EXPECT_EQ(back[i].array.view.shape, tensors[i].second.shape);
    EXPECT_EQ(content(back[i].array), data.substr(0, content(back[i].array).size()));
  }
}

TEST_F(ArrayFiles, BadSafetensorsAreRefused) {
  const std::string eight = "12345678";
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"", "less than 8 bytes"},
      {std::string(8, '\xff'), "header has 18446744073709551615 bytes"},
      {std::string("\x10\0\0\0\0\0\0\0{}", 10), "header has 16 bytes"},
      {safetensors("[]", ""), "does not begin with {"},
      {safetensors("{", ""), ""},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight + "9"), "end at byte 8"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234567"), "end at byte 8"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight), "begins at 4; allowed: 0"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight), "takes 12 bytes, but 8"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", eight), "begin <= end"},
      {safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", eight), "BF16"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight), "integers from 0"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", eight),
       "too large"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],)"
                   R"("data_offsets":[0,8]}})",
                   eight),
       "begins at 0; allowed: 4"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", eight), "x"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2]}})", eight), "data_offsets"},
      {safetensors(R"({"__metadata__":{"a":1}})", ""), "__metadata__"},
  };
  for (const auto& each : cases) {
    const std::string message = message_of([&] { read_safetensors(file("b.st", each.bytes)); });
    EXPECT_NE(message.find(each.message), std::string::npos) << message << "\nexpected: " << each.message;
    EXPECT_NE(message.find("b.st: "), std::string::npos) << message;
  }
}

TEST_F(ArrayFiles, RawFilesHaveJustTheirElements) {
  const std::string where = file("raw", "12345678");
  EXPECT_EQ(read_raw(where, ElementType::f16, {2, 2}).view.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_NE(message_of([&] {
              read_raw(where, ElementType::f16, {2, 3});
            }).find("takes 12 bytes, but 8"),
            std::string::npos);
}

TEST_F(ArrayFiles, NothingIsReplaced) {
  const ArrayView view = c_order_view("12345678", ElementType::f32, {2});
  EXPECT_NE(message_of([&] { write_npy(file("there", "x"), view); }).find("exists"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::base
