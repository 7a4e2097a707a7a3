#!/bin/sh
# Makes or updates a Meson directory and builds everything in it: tools/build.sh FOLDER OPTION….
# Silent but for warnings and errors; FOLDER/build.log has the rest.
set -eu

folder=$1
shift
log=$folder/build.log
mkdir -p "$folder"
: >"$log"

# From the first failed step on, or all of it.
fail()
{
	if grep -q '^FAILED' "$log"; then sed -n '/^FAILED/,$p' "$log"; else cat "$log"; fi
	exit 1
}

# Options that are as they were cost nothing; others make Meson look at everything again.
if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/options" 2>/dev/null)" != "$*" ]; then
	rm -rf "$folder/meson-private" "$folder/meson-info" "$folder/build.ninja"
	meson setup "$folder" "$@" >"$log" 2>&1 || fail
	echo "$*" >"$folder/options"
fi
ninja -C "$folder" >>"$log" 2>&1 || fail
grep -A 12 'warning:' "$log" || true
