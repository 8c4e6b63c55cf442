#!/bin/sh
# Installs this build, moves the installed tree, and lets programs that know nothing of ours find it.
#
#   run.sh install        BUILD WORK    cmake --install to a prefix, and under DESTDIR; then move it
#   run.sh find_package   PROJECT WORK  build PROJECT against it with CMake, run it with 3 ranks
#   run.sh pkg_config     PROJECT WORK  the same with pkg-config and the compiler ($CC or $CXX)
set -eu

action=$1
work=$3
moved=$work/moved

run_ranks() {  # PROGRAM: by the installed launcher; every rank must say that its result is right
  "$moved/bin/ff" run -n 3 -- "$1" >"$work/output" || { cat "$work/output"; exit 1; }
  cat "$work/output"
  if [ "$(grep -c ' of 3: right' "$work/output")" -ne 3 ]; then
    echo "not every one of 3 ranks said that its result is right" >&2
    exit 1
  fi
}

case $action in
  install)
    build=$2
    rm -rf "$work"
    mkdir -p "$work"
    DESTDIR=$work/destdir cmake --install "$build" --prefix /opt/fireflyer >/dev/null
    cmake --install "$build" --prefix "$work/first" >/dev/null
    (cd "$work/first" && find . | sort) >"$work/first.list"
    (cd "$work/destdir/opt/fireflyer" && find . | sort) >"$work/destdir.list"
    cmp "$work/first.list" "$work/destdir.list"
    mv "$work/first" "$moved"
    # No file may know where it was built or first installed.
    if grep -rlF -e "$work/first" -e "$build" "$moved" --include='*.cmake' --include='*.pc'; then
      echo "the files above name the build or the first prefix" >&2
      exit 1
    fi
    if readelf -d "$moved/bin/ff" "$moved"/lib*/libfireflyer.so | grep -E 'R(UN)?PATH' | grep -F "$build"; then
      echo "a run path names the build" >&2
      exit 1
    fi
    ;;
  find_package)
    project=$2
    out=$work/$(basename "$project")
    cmake -S "$project" -B "$out" -G Ninja -DCMAKE_PREFIX_PATH="$moved" >/dev/null
    cmake --build "$out" >/dev/null
    run_ranks "$out/outside"
    ;;
  pkg_config)
    project=$2
    PKG_CONFIG_PATH=$(dirname "$(find "$moved" -name fireflyer.pc)")
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046  # lists of options
    case $project in
      *_c) "${CC:-cc}" -std=c11 -o "$work/c" "$project/main.c" $(pkg-config --cflags --libs fireflyer) ;;
      *_cpp) "${CXX:-c++}" -std=c++20 -o "$work/cpp" "$project/main.cpp" $(pkg-config --cflags --libs fireflyer) ;;
    esac
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir fireflyer)
    export LD_LIBRARY_PATH
    run_ranks "$work/${project##*_}"
    ;;
  *) echo "run.sh: unknown action '$action'" >&2; exit 2 ;;
esac
