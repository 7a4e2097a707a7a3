#!/bin/sh
# The memory gate: runs a test under mallow, and fails if it takes more memory than it may.
#
#	gate.sh FOLDER PROGRAM [ARG…]
#
# FOLDER gets the recording and the results for the CI server, mallow.xml (JUnit) and mallow.sarif.
# If it has a baseline.mallow, the recording of an earlier run, the test may need 5 % more than that.
# Status: the test's own if it fails; else that of `mallow check`: 1 if a limit is broken, 3 if the
# recording is not whole.
set -eu

folder=$1
shift
mkdir -p "$folder"
rm -f "$folder/test.mallow"
mallow run -o "$folder/test.mallow" -- "$@"

# What the test may take. Leaks that are known stand in known.supp.
set -- --max-peak 1M --max-own-leaked 0 --max-calls 2000 --suppressions "$(dirname "$0")/known.supp"
if [ -e "$folder/baseline.mallow" ]; then
	set -- "$@" --baseline "$folder/baseline.mallow" --tolerance 5%
fi

# The files are for the server; what people see in the job's log comes last, and gives the status.
mallow check "$@" --format junit -o "$folder/mallow.xml" "$folder/test.mallow" || true
mallow check "$@" --format sarif -o "$folder/mallow.sarif" "$folder/test.mallow" || true
if [ "${GITHUB_ACTIONS:-}" = true ]; then
	mallow check "$@" --format github "$folder/test.mallow" || true
fi
mallow check "$@" "$folder/test.mallow"
