// Where rank 0 listens, and how the others learn it.
//
// The kernel gives a socket name to one process only; that, and nothing in a file or store, settles
// who is rank 0. One object is one rank's view of one gathering. Not thread-safe.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "bootstrap/deadline.hpp"
#include "bootstrap/entry.hpp"
#include "bootstrap/rendezvous.hpp"

namespace ff::bootstrap {

class MeetingPlace {
 public:
  virtual ~MeetingPlace() = default;

  // Rank 0: the socket name to listen at.
  virtual Result<std::string> name_to_open() = 0;
  // Rank 0, once it listens there: tell the others. False when another rank 0 has told them
  // meanwhile: close, and begin again with name_to_open().
  virtual Result<bool> publish() = 0;
  // Rank 0, when it no longer listens: take the telling back where that is possible.
  virtual void withdraw() = 0;

  // The others, again and again: where rank 0 may listen, if that is known by now. It may be out of
  // date; connecting finds out.
  virtual Result<std::optional<std::string>> find(Time deadline) = 0;
  // What the last find() saw, for the error when nobody listens there; may be "".
  virtual std::string seen() const = 0;
  // Between two looks, at the longest.
  virtual std::chrono::milliseconds pause() const = 0;

  const std::string& words() const { return words_; }  // the rendezvous as the user wrote it

 protected:
  explicit MeetingPlace(std::string words) : words_(std::move(words)) {}

 private:
  std::string words_;
};

// "name:TEXT" and ids: the socket's name follows from the text. Nothing is stored anywhere.
class NamedPlace final : public MeetingPlace {
 public:
  NamedPlace(std::string words, const std::string& text, uint64_t ordinal);
  Result<std::string> name_to_open() override { return name_; }
  Result<bool> publish() override { return true; }
  void withdraw() override {}
  Result<std::optional<std::string>> find(Time) override {
    return std::optional<std::string>(name_);
  }
  std::string seen() const override { return ""; }
  std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(20); }

 private:
  std::string name_;
};

// "file:/path": an Entry in a file. Rank 0 replaces one that an earlier run left (never a file that
// holds anything else) and removes its own when the group stands.
class FilePlace final : public MeetingPlace {
 public:
  FilePlace(std::string words, std::string path, uint64_t ordinal);
  Result<std::string> name_to_open() override;
  Result<bool> publish() override;
  void withdraw() override;
  Result<std::optional<std::string>> find(Time deadline) override;
  std::string seen() const override { return seen_; }
  std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(50); }

 private:
  std::string path_;
  uint64_t ordinal_;
  std::optional<Entry> mine_;
  std::string seen_;
};

// A store that the caller brings: an Entry under one key. It stays there; the next group finds it
// out of date and replaces it.
class StorePlace final : public MeetingPlace {
 public:
  StorePlace(Store store, uint64_t ordinal);
  Result<std::string> name_to_open() override;
  Result<bool> publish() override;
  void withdraw() override {}
  Result<std::optional<std::string>> find(Time deadline) override;
  std::string seen() const override { return seen_; }
  std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(100); }

 private:
  Result<std::optional<Entry>> look(std::chrono::nanoseconds patience);

  Store store_;
  std::string key_;
  std::string name_;  // rank 0: of its socket
  std::string seen_;
};

struct Venue {
  std::unique_ptr<MeetingPlace> place;
  std::string secret;  // that came with it (an id's)
};
Result<Venue> find_venue(const JoinOptions& options);

}  // namespace ff::bootstrap
