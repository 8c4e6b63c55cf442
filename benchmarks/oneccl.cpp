// oneCCL on host buffers, under the launcher of Intel MPI. Rank 0 leaves the address of its store
// in the file that KVS_FILE names, which must not exist before.
#include <fstream>
#include <oneapi/ccl.hpp>

#include "loop.hpp"

struct OneCcl {
  int rank, ranks;
  ccl::communicator communicator;
  void sum(float* data, size_t count) {
    ccl::allreduce(data, data, count, ccl::datatype::float32, ccl::reduction::sum, communicator)
        .wait();
  }
};

namespace {

const char* need(const char* name) {
  if (const char* value = std::getenv(name)) return value;
  throw std::runtime_error(std::string(name) + " is not set");
}

ccl::shared_ptr_class<ccl::kvs> meet(int rank, const std::string& path) {
  if (rank == 0) {
    auto store = ccl::create_main_kvs();
    const auto address = store->get_address();
    const std::string part = path + ".part";
    std::ofstream(part, std::ios::binary)
        .write(address.data(), static_cast<std::streamsize>(address.size()));
    if (std::rename(part.c_str(), path.c_str()) != 0)
      throw std::runtime_error("cannot write " + path);
    return store;
  }
  ccl::kvs::address_type address;
  const auto start = bench::Clock::now();
  for (;;) {
    std::ifstream in(path, std::ios::binary);
    if (in.read(address.data(), static_cast<std::streamsize>(address.size()))) break;
    if (bench::seconds_since(start) > 30) throw std::runtime_error("no address in " + path);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return ccl::create_kvs(address);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bench::Arguments arguments = bench::parse(argc, argv);
    const int rank = std::atoi(need("PMI_RANK")), ranks = std::atoi(need("PMI_SIZE"));
    const std::string path = need("KVS_FILE");
    ccl::init();
    const auto store = meet(rank, path);
    OneCcl library{rank, ranks, ccl::create_communicator(ranks, rank, store)};
    if (rank == 0) std::remove(path.c_str());  // the communicator exists: all have read it
    bench::Loop(library, arguments).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oneccl: %s\n", error.what());
    return 1;
  }
}
