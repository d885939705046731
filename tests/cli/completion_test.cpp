// SPDX-License-Identifier: Apache-2.0
// The static completion scripts name exactly the verbs and options that the program has.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

/// What bash completes after the words, by the project's script. What its function prints itself would stand in the
/// user's terminal: nothing.
std::set<std::string> completions(const std::string& words) {
  const TemporaryFolder folder;
  const std::string printed = folder.file("printed");
  const std::string command = "source '" SPLITWAVE_SOURCE_FOLDER
                              "/cli/completion/splitwave.bash'; COMP_WORDS=('" SPLITWAVE_BINARY "' " +
                              words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _splitwave >'" +
                              printed + "' 2>&1; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const std::string script = folder.write("complete.bash", command);
  FILE* pipe = ::popen(("bash '" + script + "'").c_str(), "r");
  std::string text;
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) {
    text += buffer;
  }
  EXPECT_EQ(::pclose(pipe), 0) << words;
  EXPECT_EQ(content(printed), "") << words;
  std::istringstream stream(text);
  std::set<std::string> result;
  for (std::string word; stream >> word;) {
    result.insert(word);
  }
  return result;
}

std::set<std::string> options_of(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.insert("--" + name);
    }
  }
  return names;
}

/// Visits every verb with its name as typed ("workload show").
template <typename Visit>
void for_each_verb(const CLI::App& app, const std::string& name, const Visit& visit) {
  visit(app, name);
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    for_each_verb(*verb, name.empty() ? verb->get_name() : name + " " + verb->get_name(), visit);
  }
}

class Completion : public testing::Test {
 protected:
  Completion() { cli::add_verbs(program_, status_); }
  CLI::App program_;
  int status_ = 0;
};

TEST_F(Completion, BashNamesExactlyTheOptionsOfEveryVerb) {
  for_each_verb(program_, "", [](const CLI::App& app, const std::string& name) {
    EXPECT_EQ(completions(name + " --"), options_of(app)) << name;
  });
}

TEST_F(Completion, BashNamesEveryVerb) {
  for_each_verb(program_, "", [](const CLI::App& app, const std::string& name) {
    const std::set<std::string> words = completions(name + " ''");
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
      EXPECT_TRUE(words.count(verb->get_name()) == 1) << name << " " << verb->get_name();
    }
  });
}

TEST_F(Completion, BashCompletesNamesFromTheProgram) {
  EXPECT_EQ(completions("plan --gpu h200,h100-s"),
            (std::set<std::string>{"h200,h100-sxm", "h200,h100-sxm-calibrated"}));
  EXPECT_TRUE(completions("plan --schedule ''").count("lean") == 1);
}

TEST_F(Completion, ZshNamesEveryVerbAndOption) {
  const std::string script = content(SPLITWAVE_SOURCE_FOLDER "/cli/completion/_splitwave");
  std::set<std::string> words;
  std::string word;
  for (const char letter : script + " ") {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_') {
      word += letter;
    } else {
      words.insert(word);
      word.clear();
    }
  }
  for_each_verb(program_, "", [&](const CLI::App& app, const std::string& name) {
    for (const std::string& option : options_of(app)) {
      EXPECT_TRUE(words.count(option) == 1) << name << " " << option;
    }
    if (app.get_parent() != nullptr) {
      EXPECT_TRUE(words.count(app.get_name()) == 1) << name;
    }
  });
}

}  // namespace
}  // namespace splitwave::tests
