// Proof that both ends of a connection know the job's secret, without sending it.
//
// Each end contributes a fresh random number; a proof is HMAC-SHA-256 under the secret over the
// role and over both opening messages as they were sent, so it cannot be replayed, reflected, or
// used for another rank, group or version. Without a secret the key is empty: the exchange then
// only keeps apart jobs and versions, and the kernel's SO_PEERCRED keeps out other users.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "bootstrap/message.hpp"

namespace ff::bootstrap {

enum class Role : uint8_t { kVisitor = 1, kRankZero = 2 };

Result<Nonce> fresh_nonce();

Result<Mac> prove(std::string_view secret, Role role, std::span<const std::byte> hello,
                  std::span<const std::byte> challenge);

// Takes the same time wherever they differ.
bool same_mac(const Mac& a, const Mac& b);

// The first `digits` (at most 64) hexadecimal digits of SHA-256: turns any text into a short name.
std::string fingerprint(std::string_view text, size_t digits);

}  // namespace ff::bootstrap
