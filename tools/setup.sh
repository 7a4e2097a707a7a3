#!/bin/sh
# Installs what is missing of tools/packages.txt: tools/setup.sh [section]. Says nothing and needs
# neither root nor network when all is there. Services that come with packages are not started.
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
folder=$(mktemp -d)
log=$folder/log
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark="# Of mallow's tools/setup.sh, while it installs packages: no service is started."
ours=

# What a run that was killed has left counts as none.
forbid_services()
{
	if [ -e "$policy" ] && ! grep -qxF "$mark" "$policy"; then return; fi
	ours=yes
	printf '%s\n' '#!/bin/sh' "$mark" "echo \"\$1\" >>'$folder/services'" 'exit 101' |
		$as_root tee "$policy" >/dev/null
	$as_root chmod 755 "$policy"
}

clean_up()
{
	[ -z "$ours" ] || $as_root rm -f "$policy"
	rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

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
forbid_services
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
if [ -s "$folder/services" ]; then
	services=$(sed 's/\.service$//' "$folder/services" | sort -u | paste -s -d ' ' -)
	echo "setup: not started, but at the next boot they are (systemctl disable NAME): $services"
fi
