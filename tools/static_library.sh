#!/bin/sh
# Makes libmallow.a out of the agent's objects: static_library.sh OBJECTS.a SCRIPT.lds RESULT.a
# One object, in which everything hidden has a name of the agent's own: in a static program all objects share
# their names, and the program must not get our memcpy(). Local it cannot be: GNU ld refuses MIPS's calls of local
# functions by the global offset table (CALL16).
set -eu

objects=$1 script=$2 result=$3
object=${result%.a}.o
"${LD:-ld}" -r -T "$script" --whole-archive "$objects" -o "$object"
readelf -sW "$object" | awk '$5 != "LOCAL" && $6 == "HIDDEN" && $7 != "UND" { print $NF, "mallow_own_" $NF }' >"$object.names"
"${OBJCOPY:-objcopy}" --redefine-syms="$object.names" "$object"
rm -f "$result"
"${AR:-ar}" rcsD "$result" "$object"
rm "$object" "$object.names"
