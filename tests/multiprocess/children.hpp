// Forked children for tests: each runs a function, and its text comes back through a pipe.
//
// The parent must have one thread when it forks. A child ends with _exit, so that it runs none of
// the parent's destructors; a child that is still there when its object goes is killed.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "base/file_descriptor.hpp"

namespace ff::testing_tools {

class Child {
 public:
  // `body` runs in the child; what it returns is output(). signal_parent() says where it is.
  explicit Child(const std::function<std::string(Child& self)>& body);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }

  // In the child: tells the parent that it has come to a point. In the parent: waits for that.
  void arrive();
  void await_arrival();

  void say(const std::string& text);  // in the child: more output()
  // In a child of the child that outlives it: lets go of the pipes, whose end is the child's end.
  void forget_parent();

  void send_signal(int signal) const;
  void wait();  // for its end; afterwards:
  const std::string& output() const { return output_; }
  int status() const { return status_; }  // as of waitpid

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  FileDescriptor output_pipe_, arrival_pipe_;
  std::string output_;
};

}  // namespace ff::testing_tools
