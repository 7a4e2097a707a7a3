#!/bin/sh
# Records a real program, shows where its memory went, and leaves a flame graph:
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

# Debian's Python reads its own standard library: some 100,000 blocks in a second or two. Its
# small-object pool would hide most of them, so it is told to use malloc.
# shellcheck disable=SC2016
program='
import ast, glob, os
trees = [ast.parse(open(path).read()) for path in sorted(glob.glob(os.__file__[:-5] + "/a*.py"))]
print(len(trees), "files parsed,", sum(1 for tree in trees for _ in ast.walk(tree)), "nodes")
'

say "mallow run -- python3, parsing a part of its standard library"
PYTHONMALLOC=malloc "$mallow" run -o "$folder/demo.mallow" -- /usr/bin/python3 -c "$program"

say "mallow report: where the memory was at the peak"
"$mallow" report --top 5 "$folder/demo.mallow"

say "mallow export --to flamegraph"
"$mallow" export --to flamegraph -o "$folder/demo.svg" "$folder/demo.mallow"
echo "wrote $folder/demo.svg: open it in a browser, click to zoom, Ctrl-F to search"

say "What to try next"
cat <<EOF
  $mallow run -- YOUR-PROGRAM            record your own program
  $mallow report --sort leaked FILE      what was never freed
  $mallow report --tree FILE             the same as a tree of callers
  $mallow info FILE                      what a recording is: program, threads, events
  $mallow --help
EOF
