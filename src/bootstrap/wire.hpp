// Turns message fields into bytes and back: little-endian integers, counted strings and lists.
//
// A message lists its fields once (`fields(self, archive)`), and both directions walk that list, so
// that writer and reader cannot disagree. The reader trusts nothing: every length is compared with
// the bytes that are left before anything is allocated, and the first violation makes all later
// reads return zeros and `ok()` false.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace ff::bootstrap {

template <class T>
concept Scalar = std::is_integral_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <Scalar T>
  void put(const T& value) {
    auto rest = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(T); i++, rest >>= 8) {
      out_.push_back(static_cast<std::byte>(rest & 0xff));
    }
  }
  template <size_t N>
  void put(const std::array<std::byte, N>& bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void put(const std::vector<std::byte>& bytes) {
    put(static_cast<uint32_t>(bytes.size()));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void put(const std::string& text) {
    put(static_cast<uint32_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), bytes, bytes + text.size());
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(static_cast<uint32_t>(items.size()));
    for (const T& item : items) T::fields(item, *this);
  }

  std::vector<std::byte>& out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }

 private:
  std::span<const std::byte> take(size_t count) {
    if (!ok_ || count > in_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = in_.first(count);
    in_ = in_.subspan(count);
    return taken;
  }
  template <Scalar T>
  void get(T& value) {
    uint64_t sum = 0;
    const auto bytes = take(sizeof(T));
    for (size_t i = 0; i < bytes.size(); i++) sum |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    value = static_cast<T>(sum);
  }
  template <size_t N>
  void get(std::array<std::byte, N>& bytes) {
    const auto taken = take(N);
    if (!taken.empty()) std::memcpy(bytes.data(), taken.data(), N);
  }
  void get(std::vector<std::byte>& bytes) {
    uint32_t count = 0;
    get(count);
    const auto taken = take(count);
    bytes.assign(taken.begin(), taken.end());
  }
  void get(std::string& text) {
    uint32_t count = 0;
    get(count);
    const auto taken = take(count);
    text.assign(reinterpret_cast<const char*>(taken.data()), taken.size());
  }
  template <class T>
  void get(std::vector<T>& items) {
    uint32_t count = 0;
    get(count);
    items.clear();
    // No reserve: a count that lies runs out of bytes long before it costs memory.
    for (uint32_t i = 0; i < count && ok_; i++) T::fields(items.emplace_back(), *this);
  }

  std::span<const std::byte> in_;
  bool ok_ = true;
};

}  // namespace ff::bootstrap
