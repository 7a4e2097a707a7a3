#!/bin/sh
# Prints the project's C and C++ files, each ended by NUL: tools/sources.sh [folder…].
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- src tests include bench examples embed
for folder; do
	[ ! -d "$folder" ] || find "$folder" \( -name '*.[ch]' -o -name '*.cpp' \) -print0
done
