#!/bin/sh
# Records the program of README.md's tour, shows where its memory went, and leaves a flame graph:
# tools/demo.sh MALLOW FOLDER.
set -eu

mallow=$1
folder=$2
mkdir -p "$folder"
rm -f "$folder"/demo.mallow "$folder"/demo.svg

say()
{
	printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi
}

say "g++ -g -O1 -o $folder/tour examples/tour.cpp"
g++ -g -O1 -o "$folder/tour" "$(dirname "$0")/../examples/tour.cpp"

# The licence texts, whose words it indexes, are on every Debian.
say "mallow run -- $folder/tour /usr/share/common-licenses/GPL-?"
"$mallow" run -o "$folder/demo.mallow" -- "$folder/tour" /usr/share/common-licenses/GPL-?

say "mallow report --top 5: where the memory was at the peak"
"$mallow" report --top 5 "$folder/demo.mallow"

say "mallow export --to flamegraph"
"$mallow" export --to flamegraph -o "$folder/demo.svg" "$folder/demo.mallow"
echo "wrote $folder/demo.svg: open it in a browser, click to zoom, Ctrl-F to search"

say "What to try next"
cat <<EOF
  $mallow serve --open $folder/demo.mallow
                                         the same in a browser: http://127.0.0.1:8080/
  $mallow run -- YOUR-PROGRAM            record your own program
  $mallow report --sort leaked FILE      what was never freed
  $mallow report --tree FILE             the same as a tree of callers
  $mallow info FILE                      what a recording is: program, threads, events
  $mallow --help
EOF
