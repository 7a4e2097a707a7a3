#!/bin/sh
# Makes libmallow.a out of the agent's objects: static_library.sh OBJECTS.a SCRIPT.lds RESULT.a
# One object, in which everything hidden is local: in a static program all objects share their names,
# and the program must not get our memcpy().
set -eu

objects=$1 script=$2 result=$3
object=${result%.a}.o
"${LD:-ld}" -r -T "$script" --whole-archive "$objects" -o "$object"
"${OBJCOPY:-objcopy}" --localize-hidden "$object"
rm -f "$result"
"${AR:-ar}" rcsD "$result" "$object"
rm "$object"
