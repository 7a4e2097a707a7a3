#!/bin/sh
# Installs what is missing of tools/packages.txt: tools/setup.sh [section]. Says beforehand what and
# how much, then how far it is; says nothing and needs neither root nor network when all is there.
# No service that comes with a package is started, neither now nor at the next boot.
set -eu

section=${1:-build}
list=$(dirname "$0")/packages.txt

# The packages of a section, one a line, as the list spells them; those left out whose command the machine has anyway.
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
# shellcheck disable=SC2046 # one word a package
have=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' $(echo "$wanted" | tr '|' ' ') 2>/dev/null |
	sed -n 's/^ii *//p' | tr '\n' ' ' || true)
missing=$(printf '%s\n' "$wanted" | awk -F '|' -v have=" $have" '{
		for (i = 1; i <= NF; i++) if (index(have, " " $i " ")) next
		print
	}' | tr '\n' ' ' | sed 's/ $//')
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
etc=${SETUP_ETC:-/etc}
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark="# Of mallow's tools/setup.sh, while it installs packages: no service is started."
ours=''
watcher=''
installing=''

# What a run that was killed has left counts as none.
forbid_services()
{
	if [ -e "$policy" ] && ! grep -qxF "$mark" "$policy"; then return; fi
	ours=yes
	printf '%s\n' '#!/bin/sh' "$mark" 'exit 101' | $as_root tee "$policy" >/dev/null
	$as_root chmod 755 "$policy"
}

# What begins at boot, "NAME LINK" a line: systemd's units, and scripts of run levels.
begun_at_boot()
{
	{
		find "$etc/systemd/system" -type l ! -lname /dev/null -printf '%l %p\n'
		find "$etc"/rc[2345S].d -name 'S[0-9][0-9]*' -printf '%l %p\n'
	} 2>/dev/null | sed 's|^[^ ]*/||' | sort
}

# Switches off what began at boot only since the installation: as `systemctl disable`, which a
# container lacks, and for scripts by Debian's own command.
disable_services()
{
	begun_at_boot | comm -13 "$folder/before" - >"$folder/brought"
	while read -r name link; do
		case $link in
		"$etc/systemd/"*) $as_root rm -f "$link" ;;
		*) $as_root update-rc.d "$name" disable ;;
		esac >>"$log" 2>&1 </dev/null || echo "setup: could not switch off $link" >&2
	done <"$folder/brought"
	[ ! -s "$folder/brought" ] || echo "setup: came along and stays off, also at the next boot:" \
		"$(sed -e 's/ .*//' -e 's/\.service$//' "$folder/brought" | sort -u | paste -s -d ' ' -)"
}

clean_up()
{
	[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
	[ -z "$installing" ] || disable_services
	[ -z "$ours" ] || $as_root rm -f "$policy"
	rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

apt()
{
	$as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q \
		-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o APT::Keep-Downloaded-Packages=false \
		"$@" >"$log" 2>&1 </dev/null
}

fail()
{
	cat "$log" >&2
	echo "setup: apt-get $1 failed; wanted: $missing" >&2
	exit 1
}

# Of "name|name" the first that the release has.
choose()
{
	for name in $(echo "$1" | tr '|' ' '); do
		! apt-cache show "$name" >/dev/null 2>&1 || break
	done
	echo "$name"
}

lines_of_log()
{
	grep -c "^$1" "$log" || true
}

# Every 5 s how far apt-get is, or what it waits for.
watch_log()
{
	while sleep 5 >/dev/null 2>&1; do
		case $(tail -n 1 "$log") in
		Waiting*) echo "setup: $(tail -n 1 "$log")" ;;
		*) echo "setup: of $packages packages $(lines_of_log Get:) downloaded," \
			"$(lines_of_log Unpacking) unpacked, $(lines_of_log 'Setting up') set up" ;;
		esac
	done
}

echo "setup: Debian packages are missing for \`$section': $missing"
apt update || fail update
set -- install --no-install-recommends
for names in $missing; do
	set -- "$@" "$(choose "$names")"
done
# With this option it stops at its question, with a status that says nothing.
apt "$@" --assume-no || true
packages=$(sed -n 's/.* \([0-9]*\) newly installed.*/\1/p' "$log")
download=$(sed -n 's/^Need to get \(.*\) of archives\.$/\1/p' "$log")
disk=$(sed -n 's/^After this operation, \(.*\) of additional .*/\1/p' "$log")
[ -n "$packages" ] || fail install
# Measured: three packages a second where the network is fast.
noun=packages
[ "$packages" != 1 ] || noun=package
echo "setup: with what they need $packages $noun: ${download:-nothing} to download," \
	"${disk:-nothing} on disk, about $((packages / 180 + 1)) min"

begun_at_boot >"$folder/before"
forbid_services
watch_log &
watcher=$!
installing=yes
apt "$@" -y || fail install
