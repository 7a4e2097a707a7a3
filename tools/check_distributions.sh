#!/bin/sh
# Runs `make demo` and `make check` on bare Debians: tools/check_distributions.sh FOLDER [RELEASE…].
# Each release has a root of its own in FOLDER, made anew with git, make and certificates, and in it a clone of what is
# committed here. Needs root and debootstrap, 5 GB and three quarters of an hour for each. Says what failed, and ends with a
# line for each release; FOLDER/RELEASE.log has all.
set -eu

folder=$1
shift
[ $# -gt 0 ] || set -- bookworm trixie
[ "$(id -u)" = 0 ] || {
	echo "check-distributions: root is needed, for debootstrap and chroot" >&2
	exit 1
}
mkdir -p "$folder"
folder=$(realpath "$folder")
here=$(realpath "$(dirname "$0")/..")

# What a machine behind a proxy needs to reach Debian, npm and PyPI.
names="http_proxy https_proxy no_proxy SSL_CERT_FILE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS PIP_CERT PIP_INDEX_URL
	npm_config_cafile npm_config_registry"

# in_root ROOT COMMAND: with the machine's devices and processes, which are unmounted when the command has ended.
in_root()
{
	passed=
	for name in $names; do
		eval "value=\${$name-}"
		[ -z "$value" ] || passed="$passed $name=$value"
	done
	# shellcheck disable=SC2016,SC2086 # for the inner shell; one word a variable
	unshare --mount sh -euc '
		root=$1 command=$2
		shift 2
		# A place of its own: programs in there may make namespaces, too.
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		for place in sys dev; do mount --rbind "/$place" "$root/$place"; done
		mount -t tmpfs tmpfs "$root/dev/shm"
		exec env -i HOME=/root TERM=xterm LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" \
			chroot "$root" sh -c "$command" </dev/null' - "$1" "$2" $passed
}

status=0
for release in "$@"; do
	root=$folder/$release
	log=$folder/$release.log
	echo "check-distributions: $release: debootstrap, make demo, make check; $log"
	rm -rf "$root"
	debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$root" >"$log" 2>&1
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	# As Debian's installer writes it.
	printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
	git clone -q "$here" "$root/srv/mallow"
	in_root "$root" 'cd /srv/mallow && make demo && make check WERROR=1' >>"$log" 2>&1 || status=1
	grep '^failed: ' "$log" || true
	echo "check-distributions: $release: $(tail -n 1 "$log")"
done
exit "$status"
