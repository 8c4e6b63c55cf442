// Gloo over TCP on the loopback interface: the parent forks RANKS ranks.
//
// Arguments: ring|bcube RANKS, then those of every program.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "loop.hpp"

struct Gloo {
  int rank, ranks;
  std::shared_ptr<gloo::rendezvous::Context> context;
  gloo::AllreduceOptions::Algorithm algorithm;
  uint32_t tag = 0;

  void sum(float* data, size_t count) {
    gloo::AllreduceOptions options(context);
    options.setOutput(data, count);
    options.setAlgorithm(algorithm);
    options.setTag(tag++);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }
};

namespace {

int run_rank(int rank, int ranks, bool ring, const bench::Arguments& arguments,
             const std::string& folder) {
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder);
    Gloo library{
        rank, ranks, std::make_shared<gloo::rendezvous::Context>(rank, ranks),
        ring ? gloo::AllreduceOptions::Algorithm::RING : gloo::AllreduceOptions::Algorithm::BCUBE};
    library.context->connectFullMesh(store, device);
    bench::Loop(library, arguments).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo: rank %d: %s\n", rank, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "arguments: ring|bcube RANKS NAME SIZES LEAST_SECONDS MOST_SECONDS\n");
    return 2;
  }
  const bool ring = std::string(argv[1]) == "ring";
  const int ranks = std::atoi(argv[2]);
  const bench::Arguments arguments = bench::parse(argc - 2, argv + 2);
  std::string folder = std::filesystem::temp_directory_path() / "gloo_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      const int result = run_rank(rank, ranks, ring, arguments, folder);
      std::fflush(stdout);
      _exit(result);
    }
    children.push_back(child);
  }
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    good = waitpid(child, &status, 0) == child && status == 0 && good;
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
