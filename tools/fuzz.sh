#!/bin/sh
# Fuzzes every target of tests/fuzz in turn: tools/fuzz.sh BUILD-FOLDER SECONDS. Inputs that reach
# new code stay in the folder, so that the next run goes on from there; one that fails is named.
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2

set -- tests/fuzz/fuzz_*.c
echo "fuzz: $# targets, $seconds s each, and some seconds to build it"
[ -f "$build/build.ninja" ] || {
	mkdir -p "$build"
	meson setup "$build" --native-file tools/clang.ini -Dfuzz=true \
		-Db_sanitize=address,undefined -Db_lundef=false \
		-Dc_args=-fsanitize=fuzzer-no-link >"$build/setup.log" || {
		cat "$build/setup.log"
		exit 1
	}
}
for source; do
	target=$(basename "$source" .c)
	found=$build/found/$target
	seeds=tests/fuzz/corpus/${target#fuzz_}
	mkdir -p "$found"
	ninja -C "$build" --quiet "tests/fuzz/$target" "tests/fuzz/${target}_replay"
	"$build/tests/fuzz/${target}_replay" --write "$found"
	echo "== $target, $seconds s"
	"$build/tests/fuzz/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found-" "$found" "$seeds" >"$build/$target.log" 2>&1 || {
		tail -n 60 "$build/$target.log"
		ls "$found"-*
		exit 1
	}
	grep 'stat::' "$build/$target.log"
done
