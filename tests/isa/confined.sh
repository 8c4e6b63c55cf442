#!/bin/sh
# confined.sh OBJDUMP NM BUILD: fails if an object of src/ holds instructions that not every x86-64
# CPU has, unless it is a level of the kernels; and if such a level shares code with other objects.
#
# The second is as dangerous as the first: a weak symbol, an inline function's copy that was built
# with wide instructions, may be the copy that the linker keeps for everybody.
set -eu
objdump=$1
nm=$2
build=$3

# VEX and EVEX instructions all begin with v; registers %k1 and above %xmm15 come only with EVEX.
wide='^ +[0-9a-f]+:[[:space:]]+(v[a-z0-9]+|k(mov|and|or|not|x|test|shift|unpck)[a-z]*) |%[yz]mm|%k[0-7]'

wide_lines() {
  "$objdump" -d --no-show-raw-insn "$1" | grep -E "$wide" | grep -Ev '[[:space:]](verr|verw|vm[a-z]+)[[:space:]]' || true
}

failed=0
checked=0
levels=0
for object in $(find "$build/src" -name '*.o' ! -name '*_test.cpp.o' | sort); do
  case $object in
    */engine/kernel/*level_avx*.o)
      levels=$((levels + 1))
      if [ -z "$(wide_lines "$object")" ]; then
        echo "$object: no wide instruction found, so this test cannot see them"
        failed=1
      fi
      shared=$("$nm" --defined-only --extern-only "$object" |
        grep -Ev '^[0-9a-f]+ [RD] _ZN2ff[0-9]+k[A-Za-z0-9]+TableE$' || true)
      if [ -n "$shared" ]; then
        echo "$object: defines more for the linker than its table:"
        echo "$shared"
        failed=1
      fi
      ;;
    *)
      checked=$((checked + 1))
      found=$(wide_lines "$object" | head -n 3)
      if [ -n "$found" ]; then
        echo "$object: holds instructions that not every x86-64 CPU has:"
        echo "$found"
        failed=1
      fi
      ;;
  esac
done
if [ "$levels" -ne 2 ] || [ "$checked" -eq 0 ]; then
  echo "found $levels wide levels and $checked other objects under $build/src; expected 2 and some"
  failed=1
fi
[ "$failed" -eq 0 ] && echo "$checked objects hold no wide instruction; $levels levels share nothing"
exit "$failed"
