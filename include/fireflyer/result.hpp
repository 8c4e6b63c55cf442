// Result and Error: how the C++ face says that a call did not do its work.
//
// An Error is one of fireflyer/types.h's codes and the text of ff_last_error(): what happened,
// where, with which values, and what to do. A Result is a value or an Error. Both are plain values
// of the caller's; nothing here throws.
#ifndef FIREFLYER_RESULT_HPP
#define FIREFLYER_RESULT_HPP
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "fireflyer/fireflyer.h"

namespace ff {
inline namespace api {

struct [[nodiscard]] Error {
  ff_status code = FF_ERROR_INTERNAL;
  std::string message;
};

// The Error of the C call on this thread that has just returned `code`.
inline Error last_error(ff_status code) { return Error{code, ff_last_error()}; }

namespace detail {

// Asking a Result for what it does not hold is a mistake in the program, not an event to handle.
[[noreturn]] inline void wrong_access(const char* asked, const char* held) {
  std::fprintf(stderr, "ff::Result: %s() called, but the result holds %s\n", asked, held);
  std::abort();
}

}  // namespace detail

// A value, or why there is none. value() and error() may be called only for what is held: ok()
// tells. The wrong one ends the process with the error's text.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return *held(*this); }
  [[nodiscard]] const T& value() const& { return *held(*this); }
  [[nodiscard]] T&& value() && { return std::move(*held(*this)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    const Error* error = std::get_if<1>(&state_);
    if (error == nullptr) {
      detail::wrong_access("error", "a value");
    }
    return *error;
  }

 private:
  template <class Self>
  static auto* held(Self& self) {
    auto* value = std::get_if<0>(&self.state_);
    if (value == nullptr) {
      detail::wrong_access("value", std::get<1>(self.state_).message.c_str());
    }
    return value;
  }

  std::variant<T, Error> state_;
};

// Success, or why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }

  void value() const {
    if (error_) {
      detail::wrong_access("value", error_->message.c_str());
    }
  }
  [[nodiscard]] const Error& error() const {
    if (!error_) {
      detail::wrong_access("error", "success");
    }
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace api
}  // namespace ff

#endif  // FIREFLYER_RESULT_HPP
