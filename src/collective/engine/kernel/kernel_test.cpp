// Every kernel of every level of this CPU against the scalar reference, bit for bit.
#include "collective/engine/kernel/kernel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "collective/engine/kernel/reference.hpp"
#include "collective/engine/kernel/testing.hpp"

namespace ff {
namespace {

using testing::Buffer;
using testing::levels_here;

TEST(KernelTable, EveryCellIsAKernelOrNamedUnsupported) {
  for (const Isa isa : levels_here()) {
    for (const ff_type type : testing::all_types()) {
      for (ff_reduce_op op = 0; op < FF_BUILTIN_OPS; op++) {
        const Status status = check_reduction(type, op);
        EXPECT_EQ(status.ok(), reduce_kernel(isa, type, op) != nullptr)
            << isa_name(isa) << ' ' << type_name(type) << ' ' << op_name(op);
        if (!status.ok()) {
          EXPECT_EQ(status.code(), FF_ERROR_UNSUPPORTED);
          EXPECT_NE(status.message().find(type_name(type)), std::string::npos);
          EXPECT_NE(status.message().find(op_name(op)), std::string::npos);
        }
      }
    }
    EXPECT_NE(copy_kernel(isa), nullptr);
  }
}

TEST(KernelTable, ExactlyTheMeaninglessPairsAreUnsupported) {
  for (const ff_type type : testing::all_types()) {
    for (ff_reduce_op op = 0; op < FF_BUILTIN_OPS; op++) {
      const bool bitwise = op == FF_BAND || op == FF_BOR || op == FF_BXOR;
      const bool meaningless = is_floating(type) ? bitwise : op == FF_AVG;
      EXPECT_EQ(check_reduction(type, op).ok(), !meaningless)
          << type_name(type) << ' ' << op_name(op);
    }
  }
}

TEST(KernelTable, UnknownTypesAndOperationsAreArguments) {
  EXPECT_EQ(check_reduction(FF_TYPE_COUNT, FF_SUM).code(), FF_ERROR_ARGUMENT);
  EXPECT_EQ(check_reduction(FF_FLOAT32, FF_BUILTIN_OPS).code(), FF_ERROR_ARGUMENT);
  EXPECT_EQ(check_reduction(FF_FLOAT32, 0x10000).code(), FF_ERROR_ARGUMENT);
  EXPECT_EQ(reduce_kernel(Isa::kBaseline, FF_TYPE_COUNT, FF_SUM), nullptr);
  EXPECT_EQ(reduce_kernel(Isa::kBaseline, FF_FLOAT32, FF_BUILTIN_OPS), nullptr);
}

TEST(SelectIsa, CapsAndNames) {
  const std::vector<Isa> levels = levels_here();
  EXPECT_EQ(*select_isa(""), levels.back());
  EXPECT_EQ(*select_isa("baseline"), Isa::kBaseline);
  for (const Isa isa : levels) EXPECT_EQ(*select_isa(isa_name(isa)), isa);
#if defined(__x86_64__)
  const char* foreign = "neon";
#else
  const char* foreign = "avx512";
#endif
  for (const char* wrong : {foreign, "avx", "AVX2", " baseline"}) {
    const Result<Isa> result = select_isa(wrong);
    ASSERT_FALSE(result.ok()) << wrong;
    EXPECT_EQ(result.status().code(), FF_ERROR_ARGUMENT);
    EXPECT_NE(result.status().message().find(wrong), std::string::npos);
    EXPECT_NE(result.status().message().find("baseline"), std::string::npos);
  }
}

// One reduction of hard values: the expected result once, then each level in several layouts.
class Case {
 public:
  Case(ff_type type, ff_reduce_op op, size_t ins, size_t count, std::mt19937_64& random)
      : type_(type), op_(op), count_(count), bytes_(count * type_size(type)) {
    for (size_t k = 0; k < ins; k++) {
      inputs_.emplace_back(bytes_);
      testing::fill_hard(type, inputs_.back().data(), count, random);
    }
    std::vector<const void*> in;
    for (const auto& input : inputs_) in.push_back(input.data());
    expected_.resize(bytes_);
    void* out = expected_.data();
    reference::reduce(type, op, &out, 1, in.data(), ins, count, divisor());
  }

  double divisor() const { return static_cast<double>(inputs_.size()); }

  // Input k and output j start at alignments that `spread` drives apart; output 0 lies over input
  // `over`, unless that is none of them.
  void run(Isa isa, size_t outs, size_t streamed, size_t spread, size_t over) const {
    std::vector<std::unique_ptr<Buffer>> in, out;
    std::vector<const void*> in_pointers;
    std::vector<void*> out_pointers;
    for (size_t k = 0; k < inputs_.size(); k++) {
      in.push_back(std::make_unique<Buffer>(bytes_, k * spread));
      if (bytes_ != 0) std::memcpy(in.back()->data(), inputs_[k].data(), bytes_);
      in_pointers.push_back(in.back()->data());
    }
    for (size_t j = 0; j < outs; j++) {
      out.push_back(std::make_unique<Buffer>(bytes_, (j + 3) * spread));
      out_pointers.push_back(out.back()->data());
    }
    if (over < in.size()) out_pointers[0] = in[over]->data();
    reduce_kernel(isa, type_, op_)(out_pointers.data(), outs, streamed, in_pointers.data(),
                                   in.size(), count_, divisor());
    for (size_t j = 0; j < outs; j++) {
      const void* result = out_pointers[j];
      if (bytes_ != 0 && std::memcmp(result, expected_.data(), bytes_) != 0) {
        explain(isa, outs, streamed, spread, over, static_cast<const char*>(result));
        return;
      }
    }
    for (const auto& buffer : in) ASSERT_TRUE(buffer->guards_untouched()) << name(isa);
    for (const auto& buffer : out) ASSERT_TRUE(buffer->guards_untouched()) << name(isa);
    for (size_t k = 0; k < in.size(); k++) {
      if (k == over || bytes_ == 0) continue;
      ASSERT_EQ(std::memcmp(in[k]->data(), inputs_[k].data(), bytes_), 0) << name(isa);
    }
  }

 private:
  std::string name(Isa isa) const {
    return std::string(isa_name(isa)) + ' ' + type_name(type_) + ' ' + op_name(op_) + ' ' +
           std::to_string(inputs_.size()) + " inputs, count " + std::to_string(count_);
  }
  void explain(Isa isa, size_t outs, size_t streamed, size_t spread, size_t over,
               const char* result) const {
    const size_t size = type_size(type_);
    const auto bits = [&](const void* buffer, size_t i) {
      uint64_t x = 0;
      std::memcpy(&x, static_cast<const char*>(buffer) + i * size, size);
      return x;
    };
    size_t i = 0;
    while (bits(result, i) == bits(expected_.data(), i)) i++;
    ::testing::Message message;
    message << name(isa) << ", " << outs << " outputs, " << streamed << " streamed, spread "
            << spread << ", over " << over << ": element " << i << std::hex << " is 0x"
            << bits(result, i) << " instead of 0x" << bits(expected_.data(), i) << " of inputs";
    for (size_t k = 0; k < inputs_.size() && k < 9; k++) {
      message << " 0x" << bits(inputs_[k].data(), i);
    }
    ADD_FAILURE() << message;
  }

  ff_type type_;
  ff_reduce_op op_;
  size_t count_, bytes_;
  std::vector<std::vector<char>> inputs_;
  std::vector<char> expected_;
};

class EveryType : public ::testing::TestWithParam<ff_type> {
 protected:
  template <class Body>
  void for_each_operation(Body body) {
    for (ff_reduce_op op = 0; op < FF_BUILTIN_OPS; op++) {
      if (check_reduction(GetParam(), op).ok()) body(op);
    }
  }
  std::mt19937_64 random_{20260101};
};

TEST_P(EveryType, EqualsTheReference) {
  for_each_operation([&](ff_reduce_op op) {
    for (const size_t ins : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33}) {
      for (const size_t count : {0, 1, 7, 64, 1000}) {
        const Case reduction(GetParam(), op, ins, count, random_);
        for (const Isa isa : levels_here()) {
          for (size_t outs = 1; outs <= 4; outs++) {
            reduction.run(isa, outs, 0, (outs * 3) % 5, SIZE_MAX);
          }
        }
      }
    }
  });
}

TEST_P(EveryType, AnOutputMayLieOverAnyInput) {
  for_each_operation([&](ff_reduce_op op) {
    for (const size_t ins : {1, 2, 3, 4, 8, 13}) {
      for (const size_t count : {1, 7, 64, 1000}) {
        const Case reduction(GetParam(), op, ins, count, random_);
        for (const Isa isa : levels_here()) {
          for (size_t over = 0; over < ins; over++) reduction.run(isa, 2, 0, 8, over);
        }
      }
    }
  });
}

TEST_P(EveryType, StreamedOutputsAreTheSame) {
  const size_t size = type_size(GetParam());
  for_each_operation([&](ff_reduce_op op) {
    for (const size_t ins : {2, 3, 4, 8}) {
      for (const size_t count : {0, 1, 7, 64, 1000}) {
        const Case reduction(GetParam(), op, ins, count, random_);
        for (const Isa isa : levels_here()) {
          for (size_t streamed = 1; streamed <= 3; streamed++) {
            // Aligned, at whole elements, at parts of elements.
            for (const size_t spread : {size_t{0}, size, size_t{3}}) {
              reduction.run(isa, 3, streamed, spread, SIZE_MAX);
            }
          }
        }
      }
    }
  });
}

TEST_P(EveryType, EveryLengthAroundARegister) {
  for (size_t count = 0; count <= 300 / type_size(GetParam()); count++) {
    const ff_reduce_op op = FF_SUM;
    const Case reduction(GetParam(), op, 2 + count % 2, count, random_);
    for (const Isa isa : levels_here()) {
      reduction.run(isa, 1, 0, 1, SIZE_MAX);
      reduction.run(isa, 2, 1, type_size(GetParam()), 1);
    }
  }
}

TEST_P(EveryType, ThousandInputs) {
  const Case reduction(GetParam(), is_floating(GetParam()) ? FF_AVG : FF_SUM, 1027, 70, random_);
  for (const Isa isa : levels_here()) reduction.run(isa, 1, 0, 1, SIZE_MAX);
}

INSTANTIATE_TEST_SUITE_P(Kernel, EveryType, ::testing::ValuesIn(testing::all_types()),
                         [](const auto& type) { return std::string(type_name(type.param)); });

TEST(CopyKernel, EveryLengthAlignmentAndNumberOfOutputs) {
  std::mt19937_64 random(7);
  for (const Isa isa : levels_here()) {
    for (size_t bytes = 0; bytes < 700; bytes += bytes < 300 ? 1 : 97) {
      for (const size_t streamed : {0, 1, 2}) {
        const size_t shift = random() % 64;
        Buffer in(bytes, random() % 64);
        testing::fill_hard(FF_UINT8, in.data(), bytes, random);
        const std::vector<char> before(in.data(), in.data() + bytes);
        Buffer a(bytes, shift), b(bytes, random() % 2 != 0 ? shift : shift + 5), c(bytes, 3);
        void* const out[] = {a.data(), b.data(), c.data()};
        copy_kernel(isa)(out, 3, streamed, in.data(), bytes);
        for (const Buffer* buffer : {&a, &b, &c}) {
          ASSERT_TRUE(std::equal(before.begin(), before.end(), buffer->data()))
              << isa_name(isa) << ' ' << bytes << " bytes, " << streamed << " streamed";
          ASSERT_TRUE(buffer->guards_untouched()) << isa_name(isa) << ' ' << bytes << " bytes";
        }
      }
    }
  }
}

}  // namespace
}  // namespace ff
