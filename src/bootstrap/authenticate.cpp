#include "bootstrap/authenticate.hpp"

#include <errno.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/random.h>

namespace ff::bootstrap {

Result<Nonce> fresh_nonce() {
  Nonce nonce;
  size_t filled = 0;
  while (filled < nonce.size()) {
    const ssize_t got = getrandom(nonce.data() + filled, nonce.size() - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("getrandom", errno);
    filled += static_cast<size_t>(got);
  }
  return nonce;
}

Result<Mac> prove(std::string_view secret, Role role, std::span<const std::byte> hello,
                  std::span<const std::byte> challenge) {
  std::vector<std::byte> transcript;
  Writer writer(transcript);
  // Lengths go in as well: no byte can move from one message into the other.
  writer(std::string("fireflyer bootstrap"), kProtocol, role,
         std::vector<std::byte>(hello.begin(), hello.end()),
         std::vector<std::byte>(challenge.begin(), challenge.end()));
  Mac mac;
  unsigned int bytes = 0;
  const unsigned char* made = HMAC(
      EVP_sha256(), secret.data() == nullptr ? "" : secret.data(), static_cast<int>(secret.size()),
      reinterpret_cast<const unsigned char*>(transcript.data()), transcript.size(),
      reinterpret_cast<unsigned char*>(mac.data()), &bytes);
  if (made == nullptr || bytes != mac.size()) {
    return Status(FF_ERROR_SYSTEM,
                  "libcrypto refused to compute HMAC-SHA-256; a system policy may forbid it");
  }
  return mac;
}

bool same_mac(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string fingerprint(std::string_view text, size_t digits) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash);
  std::string hex;
  for (const unsigned char byte : hash) hex += fmt::format("{:02x}", byte);
  return hex.substr(0, digits);
}

}  // namespace ff::bootstrap
