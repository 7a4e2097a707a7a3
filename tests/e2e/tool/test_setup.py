"""tools/setup.sh and tools/build.sh with an apt-get, sudo, ninja of our own: nothing is installed or built."""
import os
import re
import subprocess

import pytest

from conftest import TOP

# Asks for each service as Debian's packages do, and says what it was told; two of them begin at boot.
APT_GET = """#!/bin/sh
case "$*" in
*" --assume-no"*)
	echo "0 upgraded, 88 newly installed, 0 to remove and 5 not upgraded."
	echo "Need to get 69.5 MB of archives."
	echo "After this operation, 266 MB of additional disk space will be used."
	exit 1 ;;
*" install "*) echo "$*" >"$ASKED" ;;
*) exit 0 ;;
esac
for service in nginx postgresql.service nginx; do
	if [ -x "$POLICY_RC_D" ]; then "$POLICY_RC_D" $service start; echo "$service $?" >>"$TOLD"; fi
done
ln -s /lib/systemd/system/nginx.service "$SETUP_ETC/systemd/system/multi-user.target.wants"
ln -s /lib/systemd/system/redis-server.service "$SETUP_ETC/systemd/system/redis.service"
ln -s ../init.d/nginx "$SETUP_ETC/rc3.d/S01nginx"
$THEN
"""
# Of a release that has Python 3.11 and gcc 14.
APT_CACHE = """#!/bin/sh
case "$2" in *3.11*|*-14-*) ;; *) exit 100 ;; esac
"""
UPDATE_RC_D = """#!/bin/sh
[ "$2" = disable ] && mv "$SETUP_ETC/rc3.d/S01$1" "$SETUP_ETC/rc3.d/K01$1"
"""
THERE = ["systemd/system/multi-user.target.wants/ssh.service", "rc3.d/S01ssh"]


@pytest.fixture
def bin_folder(tmp_path):
    """bin_folder(name=script, …): programs of the machine, found before its own."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def fill(**scripts):
        for name, text in scripts.items():
            (folder / name.replace("_", "-")).write_text(text)
            (folder / name.replace("_", "-")).chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    return fill


@pytest.fixture
def setup(bin_folder, tmp_path):
    """setup(then, policy): runs it; then: what apt-get does at last; have: packages that are there."""
    bin_folder(sudo='#!/bin/sh\nexec "$@"\n', apt_cache=APT_CACHE,
               **{"update-rc.d": UPDATE_RC_D})
    policy, told, asked = tmp_path / "policy-rc.d", tmp_path / "told", tmp_path / "asked"
    temporary, etc = tmp_path / "tmp", tmp_path / "etc"
    temporary.mkdir()
    for link in THERE:
        (etc / link).parent.mkdir(parents=True)
        (etc / link).symlink_to("/lib/systemd/system/ssh.service" if "systemd" in link else "../init.d/ssh")

    def run(then="true", there=None, section="build", have=()):
        if there is not None:
            policy.write_text(there)
            policy.chmod(0o755)
        path = bin_folder(apt_get=APT_GET.replace("$THEN", then),
                          dpkg_query="#!/bin/sh\n" + "".join(f"echo 'ii  {name}'\n" for name in have))
        environment = dict(os.environ, PATH=path, TOLD=str(told), ASKED=str(asked),
                           POLICY_RC_D=str(policy), SETUP_ETC=str(etc), TMPDIR=str(temporary))
        result = subprocess.run([TOP / "tools/setup.sh", section], env=environment, timeout=60,
                                capture_output=True, text=True)
        assert not list(temporary.iterdir())
        result.installed = asked.read_text().split() if asked.exists() else []
        result.told = told.read_text().split("\n")[:-1] if told.exists() else []
        result.policy = policy.read_text() if policy.exists() else None
        result.at_boot = sorted(str(path.relative_to(etc)) for path in etc.rglob("*")
                                if path.is_symlink() and not path.name.startswith("K"))
        return result

    return run


FORBIDDEN = ["nginx 101", "postgresql.service 101", "nginx 101"]


def test_it_says_beforehand_what_and_how_much(setup):
    said = setup().stdout.splitlines()
    assert said[0].startswith("setup: Debian packages are missing for `build': bpftool ")
    assert said[1] == ("setup: with what they need 88 packages: 69.5 MB to download, 266 MB on disk, "
                       "about 1 min")


def test_the_first_name_that_the_release_has(setup):
    """Whichever of a list's names is there counts; of those that are not, what the release has."""
    installed = setup(section="long", have=["gcc-12-multilib"]).installed
    assert "libpython3.11-testsuite" in installed and "firefox-esr" in installed
    assert not {name for name in installed if "|" in name or "multilib" in name or "3.13" in name}
    installed = setup(section="long", have=["libpython3.13-testsuite", "libdw-dev"]).installed
    assert "gcc-14-multilib" in installed and "libelf-dev" in installed
    assert not {name for name in installed if "python3." in name} | {"libdw-dev"} & set(installed)


def test_services_are_not_started(setup):
    """Neither now nor at the next boot; what the machine had stays."""
    run = setup()
    assert (run.returncode, run.told, run.policy) == (0, FORBIDDEN, None)
    assert run.at_boot == sorted(THERE)
    assert run.stdout.splitlines()[2:] == [
        "setup: came along and stays off, also at the next boot: nginx redis-server"]
    assert run.stderr == ""


@pytest.mark.parametrize("then", ["exit 100", "kill -TERM $PPID; sleep 1"])
def test_nothing_is_left_where_it_fails(then, setup):
    run = setup(then)
    assert (run.returncode, run.told, run.policy) == (1, FORBIDDEN, None)
    assert run.at_boot == sorted(THERE)


def test_a_policy_of_the_machine_stays(setup):
    there = "#!/bin/sh\nexit 104\n"
    run = setup(there=there)
    assert (run.returncode, run.policy) == (0, there)
    assert [line.split()[1] for line in run.told] == ["104"] * 3


def test_what_a_killed_run_left_goes(setup):
    """Its folder may be gone."""
    killed = setup("cat $POLICY_RC_D >&2; exit 1").stderr
    left = killed[killed.index("#!/bin/sh"):killed.index("exit 101")] + "exit 101\n"
    run = setup("true", there=left)
    assert (run.returncode, run.policy) == (0, None)
    assert run.told[-3:] == FORBIDDEN


NINJA = """#!/bin/sh
case "$*" in
*build.ninja*) exit ;;
*-n*) echo "[1/40] a"; echo "[40/40] b"; exit ;;
esac
echo "ninja: Entering directory"
echo "[1/40] Compiling a"
echo "[17/40] Compiling b"
echo "b.c:3: warning: what a compiler says"
echo "[40/40] Linking"
exit $STATUS
"""

# A clock on which each look takes 3 s.
DATE = """#!/bin/sh
echo 3 >>clock
awk '{ sum += $1 } END { print sum }' clock
"""


@pytest.mark.parametrize("status", [0, 1])
def test_a_build_says_how_far_it_is(bin_folder, status, tmp_path):
    """In a pipe: a line every 5 seconds, and what compilers say."""
    path = bin_folder(ninja=NINJA.replace("$STATUS", str(status)), meson="#!/bin/sh\n", date=DATE,
                      nproc="#!/bin/sh\necho 2\n")
    run = subprocess.run([TOP / "tools/build.sh", "tree"], cwd=tmp_path, capture_output=True,
                         text=True, env=dict(os.environ, PATH=path))
    said = run.stdout.splitlines()
    assert run.returncode == status and run.stderr == ""
    assert said[:4] == ["build: tree: meson setup",
                        "build: tree: 40 steps, about 3 s on an idle machine",
                        "build: tree: 17 of 40", "b.c:3: warning: what a compiler says"]
    assert [line.split(" in ")[0] for line in said[4:]] == (["build: tree: done"] if status == 0 else [])


@pytest.mark.parametrize("owner,user,words", [
    ("1234", "0", "setpriv --reuid 1234 --regid 1234 --clear-groups "), ("0", "0", ""), ("1234", "1234", "")])
@pytest.mark.parametrize("target,count", [(["install"], 4), (["build", "ARCH=riscv64"], 5)])
def test_root_builds_as_the_owner_of_the_clone(bin_folder, owner, user, words, target, count):
    """sudo make install, after which the owner is to be able to build again."""
    path = bin_folder(id=f"#!/bin/sh\necho {user}\n", stat=f"#!/bin/sh\necho {owner}\n")
    run = subprocess.run(["make", "-n", "-C", TOP, *target], capture_output=True, text=True, check=True,
                         env=dict(os.environ, PATH=path))
    builds = [line.split("|")[-1].strip() for line in run.stdout.replace("\\\n", "").splitlines()
              if re.search(r"tools/(build|cross/sysroot)\.sh|\b(ln -f|mkdir -p|tee) ", line)]
    assert len(builds) == count
    for line in builds:
        assert line.startswith(words) and ("setpriv" in line) == bool(words)
