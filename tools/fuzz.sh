#!/bin/sh
# Fuzzes every target of tests/fuzz in turn: tools/fuzz.sh BUILD-FOLDER SECONDS. Inputs that reach
# new code stay in the folder, so that the next run goes on from there; one that fails is printed.
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2

[ -f "$build/build.ninja" ] || {
	mkdir -p "$build"
	meson setup "$build" --native-file tools/clang.ini -Dfuzz=true \
		-Db_sanitize=address,undefined -Db_lundef=false >"$build/setup.log" || {
		cat "$build/setup.log"
		exit 1
	}
}
ninja -C "$build" --quiet
for source in tests/fuzz/fuzz_*.c; do
	target=$(basename "$source" .c)
	mkdir -p "$build/found/$target"
	seeds=tests/fuzz/corpus/${target#fuzz_}
	[ -d "$seeds" ] || seeds=
	echo "== $target, $seconds s"
	# shellcheck disable=SC2086 # no seeds, no argument
	"$build/tests/fuzz/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/found/$target-" "$build/found/$target" $seeds 2>&1 |
		grep -E 'ERROR|SUMMARY|Test unit|stat::number|stat::new_units' || true
	if ls "$build/found/$target-"* >/dev/null 2>&1; then
		ls "$build/found/$target-"*
		exit 1
	fi
done
