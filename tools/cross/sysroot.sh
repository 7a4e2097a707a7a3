#!/bin/sh
# Unpacks what is built with, and run for tests, of another architecture: sysroot.sh CPU FOLDER [guest [FLAVOUR]].
# CPU is Meson's name of it. Debian's packages of this release or, if that lacks them, of the next one;
# nothing of them is run. guest: a system with a kernel, which tests/e2e/lib/guest.py boots. FLAVOUR: of
# that kernel, 16k for pages of 16 KiB; such a guest has the programs for tests/e2e/ports, too.
set -eu

cpu=$1 folder=$2 kind=${3:-} flavour=${4:-}
tools=$(dirname "$0")/..
field()
{
	awk -v name="$cpu" -v field="$1" '$1 == name { print $field }' "$(dirname "$0")/architectures.txt"
}

arch=$(field 2)
[ -n "$arch" ] || {
	echo "sysroot: no architecture '$cpu': docs/ports.md lists those that are there" >&2
	exit 2
}

# The libraries that the tool is built with, and programs for tests/e2e/ports.
packages=$(sed -n '/^\[tool\]/,/^$/s/^\(lib.*-dev\|zlib1g-dev\)$/\1/p; /^libbpf-dev$/p' "$tools/packages.txt" | tr '\n' ' ')
# What the tool opens by itself, for `make tarball`.
[ "$arch" != arm64 ] || packages="$packages libdebuginfod-dev"
programs="libstdc++6 python3 sqlite3 perl"
[ "$arch$flavour" != arm64 ] || programs="$programs nodejs"
[ "$(field 5)" = tool ] || packages="libc6-dev libc6-dbg libxxhash-dev"
# With the tables that test_scan.py compares with.
[ "$arch" != armhf ] || packages="$packages libc6-dbg"
[ "$arch" != mips64el ] || packages="$packages python3-dbg"
packages="$packages $programs"
[ "$kind" != guest ] || packages="linux-image-$(field 6)${flavour:+-$flavour} base-files busybox-static coreutils dash kmod gdb-minimal ncurses-base procps strace ${flavour:+$programs }libstdc++6"
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
case "$arch$flavour $release" in
"riscv64 bookworm" | "arm6416k bookworm") release=trixie ;;
esac
wanted="$release $packages"
[ "$(cat "$folder.made" 2>/dev/null)" != "$wanted" ] || exit 0

# Whoever is not root has no other way than this one; nothing is run in either.
mode=root
[ "$(id -u)" = 0 ] || mode=chrootless
mirror=$(apt-get indextargets --format "\$(SITE)" | head -n 1)
echo "sysroot: $release's packages for $arch, 200 to 320 MB, into $folder"
rm -rf "$folder" "$folder.made"
mkdir -p "$folder"
mmdebstrap --quiet --variant=extract --mode="$mode" --architectures="$arch" --include="$(echo "$packages" | tr ' ' ',')" \
	--aptopt='Apt::Install-Recommends "false"' --skip=check/qemu --skip=cleanup/reproducible \
	--dpkgopt='path-exclude=*/lib/modules/*/kernel/drivers/*' --dpkgopt='path-include=*/lib/modules/*/kernel/drivers/virtio/*' \
	--dpkgopt='path-exclude=*/lib/modules/*/kernel/sound/*' --dpkgopt='path-exclude=*/share/doc/*' \
	"$release" "$folder" "deb $mirror $release main"
for link in bin lib sbin; do
	[ -e "$folder/$link" ] || ln -s "usr/$link" "$folder/$link"
done
# Absolute links lead into this machine's files.
find "$folder/usr/lib" "$folder"/lib*/ -type l -lname '/*' | while read -r link; do
	ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
echo "$wanted" >"$folder.made"
