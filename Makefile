# The verbs of the project; each is one command of CMake or of scripts/.
.POSIX:
PREFIX = /usr/local
DESTDIR =

all:
	scripts/setup build
	scripts/build release

demo:
	scripts/demo

test:
	scripts/test

# Ours beside the peers, interleaved in the same minutes; bench-peers installs those.
bench: all
	scripts/setup bench
	benchmarks/run

bench-peers:
	scripts/setup bench
	benchmarks/install-peers

install: all
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

# Proves scripts/demo and scripts/test on a Debian 12 with nothing but git. Needs root.
check-fresh:
	scripts/check-fresh

format:
	scripts/format

tidy:
	scripts/test tidy

coverage:
	scripts/coverage

clean:
	rm -rf build build-*

.PHONY: all demo test bench bench-peers install check-fresh format tidy coverage clean
