#!/bin/sh
# Bundles the page: build.sh FOLDER DEPFILE. Packages come from the lock file, if they are not here
# yet.
set -eu

folder=$(realpath "$1")
depfile=$(realpath "$2")
cd "$(dirname "$0")"
node=$(./node.sh)
PATH=$node:$PATH

# npm writes this file last.
if [ -z "$(find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ]; then
	log=$folder/npm.log
	npm ci --no-audit --no-fund --no-progress >"$log" 2>&1 || {
		cat "$log" >&2
		echo "web: npm ci failed; -Dweb=false builds without the web interface" >&2
		exit 1
	}
	touch node_modules/.package-lock.json
fi
node build.mjs "$folder" "$depfile"
