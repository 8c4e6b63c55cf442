// Takes libFuzzer's place in builds without it: runs a fuzzer's function over files, or over all
// files of folders, so that what was once found stays a test; then for two seconds over seeded
// mutations of them, so that a plain build also searches a little.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

using Input = std::vector<std::uint8_t>;

Input read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// One to eight edits: a byte set, flipped, inserted or removed, a length cut, a piece of another
// input.
Input mutated(const std::vector<Input>& corpus, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  Input input = corpus[below(corpus.size())];
  for (std::size_t edits = 1 + below(8); edits > 0; --edits) {
    const auto at = input.begin() + static_cast<std::ptrdiff_t>(below(input.size()));
    switch (input.empty() ? 2 : below(6)) {
      case 0:
        *at = static_cast<std::uint8_t>(random());
        break;
      case 1:
        *at = static_cast<std::uint8_t>(*at ^ (1U << below(8)));
        break;
      case 2:
        input.insert(at, static_cast<std::uint8_t>(random()));
        break;
      case 3:
        input.erase(at);
        break;
      case 4:
        input.erase(at, input.end());
        break;
      default: {
        const Input& other = corpus[below(corpus.size())];
        const std::size_t first = below(other.size());
        const std::size_t count = below(other.size() - first + 1);
        const auto from = other.begin() + static_cast<std::ptrdiff_t>(first);
        input.insert(at, from, from + static_cast<std::ptrdiff_t>(count));
      }
    }
  }
  return input;
}

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

}  // namespace

int main(int argc, char** argv) {
  std::vector<Input> corpus;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      corpus.push_back(read(argv[i]));
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) corpus.push_back(read(entry.path()));
    }
  }
  std::sort(corpus.begin(), corpus.end());  // the same seed, the same run
  for (const Input& input : corpus) run(input);
  std::printf("replayed %zu inputs\n", corpus.size());
  if (corpus.empty()) return 1;
  std::mt19937_64 random(1);
  long tried = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (; std::chrono::steady_clock::now() < end; ++tried) run(mutated(corpus, random));
  std::printf("tried %ld mutations\n", tried);
  return 0;
}
