#!/bin/sh
# The helper of MODE=live in tests: keeps the table as it is, for an independent reader. It is called
# as the tool is, `keep_table.sh live-report --fd N …`; MALLOW_TEST_TABLES is where tables go.
set -e
# A shell tells of commands that a limit of the program has killed; the agent says it, too.
exec 2>/dev/null
[ "$1 $2" = "live-report --fd" ]
shift 2
folder=$MALLOW_TEST_TABLES
fd=$1
shift
mkdir -p "$folder"
number=$(find "$folder" -maxdepth 1 -name '*.mallow' | wc -l)
cp --sparse=always "/proc/self/fd/$fd" "$folder/$$.partial"
printf '%s\n' "$*" >"$folder/$number.$$.arguments"
mv "$folder/$$.partial" "$folder/$number.$$.mallow"
