#!/bin/sh
# The slow checks of the source: tools/lint.sh BUILD-FOLDER (one with compile_commands.json).
set -eu
cd "$(dirname "$0")/.."
build=$1
status=0

tools/check_rooms.py --headers || status=1
shellcheck tools/*.sh .ci/run || status=1
tools/sources.sh | xargs -0 clang-format --dry-run --Werror || status=1

find src -name '*.c' -print0 |
	xargs -0 -P 2 -n 4 clang-tidy --quiet -p "$build" 2>"$build/clang-tidy.log" || status=1

cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -j 2 \
	--enable=warning,performance,portability --suppressions-list=tools/cppcheck.txt \
	-Isrc -D__x86_64__ -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 src || status=1

[ $status = 0 ] && echo "lint: nothing found"
exit $status
