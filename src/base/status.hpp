// Status and Result: how a function says that it could not do its work.
//
// A Status is a code and, unless the code is FF_OK, a text that says what happened, where, with
// which values, and what to do. Both types are values; moving is cheap, success allocates nothing.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "fireflyer/types.h"

namespace ff {

class [[nodiscard]] Status {
 public:
  Status() = default;  // FF_OK
  Status(ff_status code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == FF_OK; }
  ff_status code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same error, with `where` in front of its text.
  Status with_context(const std::string& where) const {
    return ok() ? Status() : Status(code_, where + ": " + message_);
  }

 private:
  ff_status code_ = FF_OK;
  std::string message_;
};

// FF_ERROR_SYSTEM with "`what`: `strerror(error)` (errno N)".
Status system_error(const std::string& what, int error);

// A value, or the Status (never FF_OK) that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT: implicit
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  const Status& status() const {
    static const Status success;
    return ok() ? success : std::get<1>(state_);
  }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace ff

#define FF_CONCAT_(a, b) a##b
#define FF_CONCAT(a, b) FF_CONCAT_(a, b)

// The two ways to hand an error on. There is no third.
#define FF_RETURN_IF_ERROR(expression)                        \
  do {                                                        \
    if (::ff::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define FF_ASSIGN_OR_RETURN(declaration, expression) \
  FF_ASSIGN_OR_RETURN_(FF_CONCAT(result_, __LINE__), declaration, expression)
#define FF_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) {                                         \
    return result.status();                                   \
  }                                                           \
  declaration = std::move(result).value()
