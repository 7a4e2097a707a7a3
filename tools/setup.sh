#!/bin/sh
# Installs what is missing of tools/packages.txt: tools/setup.sh [section]. Says nothing and needs
# neither root nor network when all is there.
set -eu

section=${1:-build}
list=$(dirname "$0")/packages.txt

# The packages of a section, one a line, those left out whose command the machine has anyway.
packages_of()
{
	sed -n "s/^\[$1: *\(.*\)\]\$/\1/p" "$list" | tr ' ' '\n' | while read -r other; do
		[ -z "$other" ] || packages_of "$other"
	done
	sed -e 's/ *#.*//' -e '/^$/d' "$list" |
		awk -v want="$1" '/^\[/ { gsub(/[][]|:.*/, ""); on = $0 == want; next } on' |
		while read -r package command; do
			if [ -z "$command" ] || ! command -v "$command" >/dev/null; then
				echo "$package"
			fi
		done
}

grep -q "^\[${section}[]:]" "$list" || {
	echo "setup: $list has no section [$section]" >&2
	exit 2
}

wanted=$(packages_of "$section" | sort -u)
# shellcheck disable=SC2086 # one word a package
have=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null |
	sed -n 's/^ii *//p' | sort -u || true)
missing=$(printf '%s\n' "$wanted" | grep -vxF -e "$have" | tr '\n' ' ' || true)
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "setup: root or sudo is needed to install: $missing" >&2
		exit 1
	}
	as_root=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt()
{
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 "$@" >"$log" 2>&1 </dev/null || {
		cat "$log" >&2
		echo "setup: apt-get $1 failed; wanted: $missing" >&2
		exit 1
	}
}

echo "setup: installing $missing"
apt update
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
