// Is what people type read as they mean it, and refused with a sentence where it means nothing?
#include "bench/text.hpp"

#include <gtest/gtest.h>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::refused;

using Strings = std::vector<std::string>;

TEST(text, splits_lists_of_models_at_models) {
  EXPECT_EQ(split_models("gpt-nano"), (Strings{"gpt-nano"}));
  EXPECT_EQ(split_models("gpt-nano,gpt:layers=4,width=256,heads=8,mlp-3x1024"),
            (Strings{"gpt-nano", "gpt:layers=4,width=256,heads=8", "mlp-3x1024"}));
  EXPECT_EQ(split_models("mlp:layers=1,width=2,mlp:layers=3,width=4"),
            (Strings{"mlp:layers=1,width=2", "mlp:layers=3,width=4"}));
}

TEST(text, words_keep_what_is_quoted_and_drop_comments) {
  EXPECT_EQ(words("  --data 'a b.txt' \"c d\"  # why"), (Strings{"--data", "a b.txt", "c d"}));
  EXPECT_EQ(words("a#b"), (Strings{"a#b"}));
  EXPECT_EQ(words("# only a comment"), Strings{});
  EXPECT_NE(refused([] { words("--data 'a"); }), "");
}

TEST(text, suggests_what_was_nearly_typed_and_nothing_else) {
  const Strings names = {"ddp", "zero1", "zero2", "zero1_naive"};
  EXPECT_EQ(closest("zer1", names), "zero1");
  EXPECT_EQ(closest("ZERO2", names), "zero2");
  EXPECT_EQ(closest("zero1naive", names), "zero1_naive");
  EXPECT_EQ(closest("dpd", names), "ddp");
  EXPECT_EQ(closest("fsdp-hybrid", names), std::nullopt);
  EXPECT_EQ(closest("", names), std::nullopt);
}

TEST(text, numbers_are_whole_in_range_and_nothing_besides) {
  EXPECT_EQ(whole_number("--ranks", "256", 1, 256), 256);
  for (const char* bad :
       {"0", "-1", "1.5", "10000", "", "2x", " 2", "+2", "99999999999999999999", "0x2", "1e1"})
    EXPECT_EQ(refused([&] { whole_number("--ranks", bad, 1, 256); }),
              std::string("--ranks is \"") + bad + "\", but must be a whole number from 1 to 256.");
  EXPECT_EQ(real_number("--clip", "0", 0, 10), 0);
  EXPECT_EQ(real_number("--lr", "1e-3", 0, 10), 1e-3);
  for (const char* bad : {"-1", "nan", "inf", "11", "", "x"})
    EXPECT_NE(refused([&] { real_number("--clip", bad, 0, 10); }), "") << bad;
  EXPECT_NE(refused([] { real_number("--timeout", "0", 0, 10, true); }), "");
}

TEST(text, decimal_and_binary_sizes_differ) {
  EXPECT_EQ(byte_count("--memory-limit", "8GB"), 8'000'000'000u);
  EXPECT_EQ(byte_count("--memory-limit", "8GiB"), 8'589'934'592u);
  EXPECT_EQ(byte_count("--memory-limit", "1.5 MiB"), 1'572'864u);
  EXPECT_EQ(byte_count("--memory-limit", "20e6B"), 20'000'000u);
  for (const char* bad : {"8", "8GX", "GB", "-1GB", "0B", "nanGB", "1e30TB", "8gb"})
    EXPECT_NE(refused([&] { byte_count("--memory-limit", bad); }), "") << bad;
  for (const std::uint64_t n :
       {1ull, 999ull, 1000ull, 1024ull, 4'000'000ull, 1ull << 33, 12'345'678ull})
    EXPECT_EQ(byte_count("x", bytes_text(n)), n) << bytes_text(n);
}

TEST(text, a_file_is_written_whole_or_not_at_all) {
  const testing::Folder f;
  write_whole_file("--out", f / "a", "first\n");
  write_whole_file("--out", f / "a", "second\n");
  EXPECT_EQ(testing::read(f / "a"), "second\n");
  std::filesystem::create_directory(f / "folder");
  for (const char* bad : {"no/where", "folder"})
    EXPECT_TRUE(
        refused([&] { write_whole_file("--out", f / bad, "x"); })
            .ends_with(" cannot be written: " + std::string(std::string(bad) == "folder"
                                                                ? "Is a directory."
                                                                : "No such file or directory.")))
        << bad;
  const auto files = std::filesystem::directory_iterator(f.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "nothing half-written stays";
  write_whole_file("--out", "/dev/null", "x");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

// The published test vectors of FNV-1a, 64 bits.
TEST(text, hashes_as_fnv1a_does) {
  EXPECT_EQ(hex16(fnv1a64("")), "cbf29ce484222325");
  EXPECT_EQ(hex16(fnv1a64("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hex16(fnv1a64("foobar")), "85944171f73967e8");
}

TEST(text, a_config_is_a_regular_file_of_some_kB) {
  const testing::Folder f;
  testing::write(f / "config.json", "{}");
  EXPECT_EQ(read_config("--model", f / "config.json"), "{}");
  std::filesystem::create_symlink(f / "config.json", f / "link.json");
  EXPECT_EQ(read_config("--model", f / "link.json"), "{}");
  testing::write(f / "most", std::string(16'000'000, 'x'));
  testing::write(f / "more", std::string(16'000'001, 'x'));
  EXPECT_EQ(read_config("--model", f / "most").size(), 16'000'000u);
  const auto why = [](const std::filesystem::path& file) {
    return refused([&] { read_config("--model", file); });
  };
  EXPECT_EQ(why(f / "more"), "--model: " + (f / "more").string() +
                                 " has more than 16 MB, but a config has a few kB.");
  EXPECT_EQ(why("/dev/zero"),
            "--model: /dev/zero is a pipe or a device, but must be a regular file.");
  EXPECT_EQ(why(f.path()), "--model: " + f.path().string() + " is a folder, but must be a file.");
  EXPECT_EQ(why("none.json"), "--model: there is no file none.json.");
}

}  // namespace
}  // namespace shardmark
