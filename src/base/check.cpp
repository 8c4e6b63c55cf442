#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace ff {

void check_failed(const char* file, int line, const char* condition, const char* expected) {
  fprintf(stderr,
          "fireflyer: %s:%d: %s: this does not hold: %s. This is a bug, please report it.\n", file,
          line, expected, condition);
  abort();
}

}  // namespace ff
