"""Programs in a root of their own: with this machine's /dev and a /proc, and nothing else of it."""
import os
import subprocess

import pytest

ENTER = """root=$1 && shift
mkdir -p "$root/proc" "$root/dev" "$root/tmp" && chmod 1777 "$root/tmp" && mount --bind "$root" "$root" || exit 125
[ -z "$READ_ONLY" ] || { mount -t tmpfs tmpfs "$root/tmp" && mount -o remount,bind,ro "$root"; } || exit 125
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 125
exec env -i ${ENVIRONMENT} chroot ${USERSPEC:+--userspec="$USERSPEC"} "$root" "$@" """


def run_in(root, *words, user=None, environment=(), read_only=False, check=True):
    """Runs the words in there, with /tmp as HOME. read_only: but for an empty /tmp."""
    if os.getuid():
        pytest.skip("root is needed, for chroot")
    variables = " ".join(["HOME=/tmp", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *environment])
    run = subprocess.run(["unshare", "-m", "sh", "-c", ENTER, "-", root, *map(str, words)], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=600, errors="backslashreplace",
                         env={**os.environ, "USERSPEC": user or "", "READ_ONLY": "1" if read_only else "",
                              "ENVIRONMENT": variables})
    if run.returncode == 125 or "unshare failed" in run.stderr:
        pytest.skip(f"a file system is to be mounted: {run.stderr}")
    assert not check or run.returncode == 0, f"{words}: status {run.returncode}: {run.stdout}{run.stderr}"
    return run
