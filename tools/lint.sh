#!/bin/sh
# The slow checks of the source: tools/lint.sh BUILD-FOLDER (one with compile_commands.json).
set -eu
cd "$(dirname "$0")/.."
build=$1
status=0

# Names the step: the two large ones take minutes and print nothing when all is well.
step()
{
	echo "lint: $*"
}

step "1 of 5: rooms and headers"
tools/check_rooms.py --headers || status=1
step "2 of 5: shellcheck"
shellcheck tools/*.sh tools/cross/*.sh .ci/run examples/ci/*.sh || status=1
step "3 of 5: clang-format"
tools/sources.sh | xargs -0 clang-format --dry-run --Werror || status=1

step "4 of 5: clang-tidy, $(find src embed -name '*.c' ! -name '*.bpf.c' | wc -l) files"
# Programs for BPF are compiled by other options, which the build's list does not have.
find src -name '*.c' ! -name '*.bpf.c' -print0 |
	xargs -0 -P 2 -n 4 clang-tidy --quiet -p "$build" 2>"$build/clang-tidy.log" || status=1
clang-tidy --quiet embed/mallow_embed.c -- -std=c99 -ffreestanding 2>>"$build/clang-tidy.log" ||
	status=1

step "5 of 5: cppcheck"
cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -j 2 \
	--enable=warning,performance,portability --suppressions-list=tools/cppcheck.txt \
	-Isrc -D__x86_64__ -DMALLOW_CPU=x86_64 -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 -isrc/ebpf/bpf src embed || status=1

[ $status = 0 ] && echo "lint: nothing found"
exit $status
