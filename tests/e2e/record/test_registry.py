"""No recording of a run is lost sight of: other users, sandboxes, chroots, no /tmp, and who sends rubbish."""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import mallow_reader
from command_line import unwrapped
from conftest import clean_environment, need

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
RAW_CLOSE = "import ctypes, os, sys; ctypes.CDLL(None).syscall(436, 3, -1, 0); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def root(tmp_path_factory):
    """A directory in which everybody may write, and that everybody reaches."""
    if os.getuid() != 0:
        pytest.skip("this takes the rights of root")
    need("setpriv")
    path = tmp_path_factory.mktemp("root")
    for folder in (path, *path.parents):
        if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    path.chmod(0o1777)
    return path


@pytest.fixture
def run(mallow, agent, root):
    def run(*command, environment=(), status=0):
        ran = subprocess.run([mallow, "run", "-o", root / "r.%p.%n.mallow", *command], capture_output=True, text=True,
                             cwd=root, timeout=60, env=clean_environment(dict(environment)))
        assert ran.returncode == status, ran.stderr
        return ran
    return run


def unshared(*options):
    """unshare with these options; skips where the kernel or a sandbox forbids it."""
    words = [need("unshare"), *options]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    return words


def listed(stderr):
    """{program: path} of the table and of the first recording."""
    first = re.search(r"^mallow: (\S+).*\(pid", stderr, re.M)
    found = {os.path.basename(first[1]): re.search(r"^  recording   (\S+)", stderr, re.M)[1]}
    for program, path in re.findall(r"^ +\d+ +[\d.]+ \w+ +[\d.]+ \w+ +[\d.]+ \w+  (\S+)  (\S+)$", stderr, re.M):
        found.setdefault(program, path)
    return found


def unseen(stderr):
    """{program: why}: what the summary says of programs that were not recorded."""
    return dict(re.findall(r"^  ! (?:.* \(\d+\): )?(\S+) was not recorded(?:, nor what it started)?: (.*)$", unwrapped(stderr), re.M))


def is_finished(path):
    return bool(mallow_reader.read(path).header.finished)


def make_chroot(folder, *files):
    """The files, and the libraries that they need, in a root of their own."""
    wanted = set(files)
    for file in files:
        for word in subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout.split():
            if word.startswith("/"):
                wanted.add(word)
    for file in wanted:
        to = folder / str(file).lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    return folder


@pytest.mark.parametrize("way", ["setpriv", "su", "sudo"])
def test_another_user(way, run, root):
    """Its recording is listed, and finished: by that user's rights, so it stays that user's."""
    words = {"setpriv": AS_NOBODY, "su": ["su", "-s", "/bin/sh", "nobody", "-c"], "sudo": ["sudo", "-n", "-u", "nobody"]}
    need(words[way][0])
    command = "sleep 0" if way == "su" else ("sleep", "0")
    ran = run("env", "TMPDIR=/nowhere", *words[way], *([command] if way == "su" else command))
    path = root / listed(ran.stderr)["sleep"]
    assert path.stat().st_uid == NOBODY and path.stat().st_mode & 0o777 == 0o600
    assert is_finished(path) and "left as" not in ran.stderr


def test_another_user_without_rights_to_finish(run, root):
    """A file in a directory that its owner may not write to is left, and one line says so."""
    closed = root / "closed"
    closed.mkdir()
    closed.chmod(0o777)
    script = f"cd {closed}; {' '.join(AS_NOBODY)} sh -c 'sleep 0; :'; chmod 755 {closed}"
    ran = run("-o", closed / "x.%p.%n.mallow", "sh", "-c", script)
    lines = re.findall(r"^mallow: recording of uid 65534, left as the program wrote it: (\S+)$", ran.stderr, re.M)
    assert sorted(os.path.basename(path) for path in lines) == \
        sorted(path.name for path in closed.iterdir() if path.stat().st_uid == NOBODY)
    assert len(lines) == 2 and not any(is_finished(path) for path in lines)


@pytest.mark.parametrize("count", [1, 2])
def test_no_place_for_a_recording(count, run, root, tool):
    """What a program says when it begins scrolls away: the summary says it once more, and so does the recording of who
    started it. A run with such a program does not hold."""
    script = ("import os, subprocess\nos.environ['MALLOW_OUTPUT'] = '/proc/none/r.mallow'\n"
              f"for i in range({count}):\n    subprocess.run(['sleep', '0'])")
    ran = run("-o", "r.mallow", "/usr/bin/python3", "-c", script)
    lines = re.findall(r"^  ! sleep was not recorded: it could not create '/proc/none/r\.mallow\.\S+'$",
                       unwrapped(ran.stderr), re.M)
    assert len(lines) == count, ran.stderr
    assert is_finished(root / "r.mallow")
    facts = tool.info(root / "r.mallow")["unseen"]
    assert [os.path.basename(fact["object"]) for fact in facts] == ["sleep"] * count
    held = tool("check", "--max-leaked", "1G", root, check=False)
    assert held.returncode == 3 and "sleep was not recorded: it could not create" in held.stdout, held.stdout


def test_a_relative_name_is_the_runs(run, root):
    """A child that has changed its directory, even to one that is deleted then, records beside the others; where it must
    not write, it records where it is."""
    script = (f"mkdir deep && cd deep && sleep 0; cd .. && rm -r deep; mkdir -m 777 open; chmod 755 .; cd open; "
              f"{' '.join(AS_NOBODY)} sleep 0; :")
    ran = run("-o", "r.%p.%n.mallow", "sh", "-c", script)
    beside = {os.path.basename(path) for path in root.glob("*.mallow")}
    assert len(beside) >= 2 and not (root / "deep").exists()
    assert all(is_finished(root / name) for name in beside) and listed(ran.stderr)["sleep"] in beside
    owners = {path.stat().st_uid for path in (root / "open").iterdir()}
    assert owners == {NOBODY}, ran.stderr


def test_a_daemon_that_lives_on(run, root):
    """Whoever lives longer than the run is not in its summary, and the summary says so, also if it has allocated nothing
    yet."""
    os.mkfifo(root / "held")
    (root / "daemon.c").write_text("""
        #include <fcntl.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int count, char **words)
        {
            void *volatile kept;
            char c;
            int told[2];
            if (pipe(told) || count < 2)
                return 1;
            if (fork()) {
                close(told[1]);
                return read(told[0], &c, 1) < 0;
            }
            setsid();
            if (*words[1] == 'a')
                kept = malloc(1000);
            close(0), close(1), close(2);
            close(told[1]);
            read(open("held", O_RDONLY), &c, 1);
            return !kept && *words[1] == 'a';
        }""")
    subprocess.run(["gcc", "-w", "-o", root / "daemon", root / "daemon.c"], check=True)
    line = "mallow: processes of this run are still running: "
    for kind in "ab":
        ran = run("sh", "-c", f"./daemon {kind}; sleep 0")
        assert line in ran.stderr.partition("  peak ")[0], ran.stderr
        assert ("  (is still running)\n" in ran.stderr) == (kind == "a"), ran.stderr
        (root / "held").write_text("")
    assert line not in run("sh", "-c", "sleep 0 & wait").stderr


@pytest.mark.parametrize("way", ["inherited", "address"])
def test_both_ways_to_the_registry(way, run, root):
    """The descriptor goes into other namespaces. Where a program closes it, the address is left."""
    words = unshared("--mount", "--net", "--pid", "--fork") if way == "inherited" else \
        ["/usr/bin/python3", "-c", RAW_CLOSE]
    ran = run(*words, need("sleep"), "0")
    assert is_finished(root / listed(ran.stderr)["sleep"])


def test_the_descriptor_is_protected(run):
    """The program sees no descriptor more than without mallow, and cannot close it by accident."""
    script = ("import os, subprocess\n"
              "number = int(os.environ['MALLOW_REGISTRY'].split(':')[1])\n"
              "os.closerange(3, 4096)\n"
              "os.set_inheritable(number, False)\n"
              "print(subprocess.run(['readlink', f'/proc/self/fd/{number}'], capture_output=True, text=True).stdout)")
    ran = run("/usr/bin/python3", "-c", script)
    assert ran.stdout.startswith("socket:"), ran.stdout


def test_a_sandbox(run, root):
    """What lies where only its process sees it is copied, if it is ours; else left, and one line says so."""
    box = root / "box"
    box.mkdir()
    script = (f"mount -t tmpfs -o mode=1777 tmpfs {box}; cd {box}; MALLOW_OUTPUT={box}/in.%p.mallow sleep 0; "
              f"MALLOW_OUTPUT={box}/other.%p.mallow {' '.join(AS_NOBODY)} sleep 0; :")
    ran = run(*unshared("--mount"), "sh", "-c", script)
    copied, where = re.search(r"^mallow: '(\S+)' of process \d+ lay where only that process could see it: copied to "
                              r"'(\S+)'$", ran.stderr, re.M).groups()
    assert copied == f"{box}/{where}" and is_finished(root / where)
    assert re.search(rf"^mallow: recording of uid {NOBODY}, left as the program wrote it: {box}/other\.\d+\.mallow"
                     r"(\.1)? \(as that program sees it\)$", ran.stderr, re.M), ran.stderr
    assert not list(box.iterdir())


def test_a_file_of_a_tmpfs(mallow):
    """It has seals, as what has no name and lies in memory alone: it is found by its name nevertheless."""
    if subprocess.run(["stat", "-fc", "%T", "/dev/shm"], capture_output=True, text=True).stdout != "tmpfs\n":
        pytest.skip("/dev/shm is no tmpfs")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        ran = subprocess.run([mallow, "run", "-o", f"{folder}/r.mallow", "true"], capture_output=True, text=True,
                             timeout=60, env=clean_environment())
        assert ran.returncode == 0 and f"  recording   {folder}/r.mallow\n" in ran.stderr, ran.stderr
        assert os.listdir(folder) == ["r.mallow"]


def test_a_chroot_with_the_library(run, root, agent):
    """The path is not the one that its process knows."""
    where = make_chroot(root / "there", need("sleep"), agent.resolve())
    ran = run("chroot", where, need("sleep"), "0")
    path, = where.rglob("r.*.mallow*")
    assert f"  {path.relative_to(root)}\n" in ran.stderr and is_finished(path), ran.stderr


@pytest.mark.parametrize("command", ["run", "live"])
def test_a_chroot_without_the_library(command, mallow, agent, root):
    """The program's loader must not complain in its name."""
    where = make_chroot(root / "there", need("echo"))
    environment = clean_environment({"MALLOW_OUTPUT": str(root / "r.%p.mallow")})
    script = f"chroot {where} {need('echo')} hi 2>&1; env LD_PRELOAD=nothing.so chroot {where} {need('echo')} ho 2>&1"
    ran = subprocess.run([mallow, command, "sh", "-c", script], capture_output=True, text=True, cwd=root,
                         env=environment, check=True)
    lines = ran.stdout.splitlines()
    assert "hi" in lines and "ho" in lines and "libmallow" not in ran.stdout, ran.stdout
    assert ran.stdout.count("nothing.so") == ran.stdout.count("ERROR: ld.so") > 0
    if command == "run":
        assert unseen(ran.stderr) == {"echo": "libmallow.so cannot be opened where it runs"}
    else:
        assert ran.stderr.count("mallow: echo was not recorded, nor what it started: libmallow.so cannot be opened") == 1


@pytest.mark.parametrize("starter", [
    ["dash", "-c", "./fixed; ./plain; ./risen; ./script"],  # by vfork
    ["bash", "-c", "./fixed; ./plain; ./risen; ./script; :"],  # by fork; the child has not allocated
    ["/usr/bin/python3", "-c", "import subprocess\nfor name in 'fixed', 'plain', 'risen', 'script':"
     " subprocess.run(['./' + name], check=True, close_fds=False)"]])  # by posix_spawn
def test_programs_that_are_not_recorded(starter, run, root, tool):
    """The recording of who starts them says so, and why, and so does the summary: static and set-uid programs, also as
    interpreters of scripts."""
    (root / "main.c").write_text("int main(void) { return 0; }")
    for name, options in (("fixed", ["-static"]), ("plain", []), ("risen", [])):
        subprocess.run(["gcc", *options, "-o", root / name, root / "main.c"], check=True)
    (root / "script").write_text(f"#! {root}/fixed -x\n")
    (root / "script").chmod(0o755)
    os.chown(root / "risen", NOBODY, NOBODY)
    (root / "risen").chmod(0o4755)
    ran = run(*starter)
    said = unseen(ran.stderr)
    assert len(re.findall("^  ! .*fixed was not recorded", unwrapped(ran.stderr), re.M)) == 1, ran.stderr
    assert said == {"fixed": "it is statically linked", "script": "it is statically linked",
                    "risen": "it gains privileges, and the system then preloads nothing"}
    assert any(one["object"] == "./fixed" for path in root.glob("*.mallow") for one in tool.info(path)["unseen"])


def test_executed_by_descriptors(run, root):
    """fexecve() of a file without a name, and execveat() relative to a directory. What cannot be executed is no program."""
    source = root / "starts.c"
    source.write_text("""
        #include <fcntl.h>
        #include <sys/mman.h>
        #include <unistd.h>
        #include <sys/wait.h>
        static char memory[4 << 20];
        int main(int count, char **words)
        {
            char *none[] = {"x", 0};
            int plain = open("inner", O_RDONLY), file = open("inner/fixed", O_RDONLY);
            int made = memfd_create("made", MFD_CLOEXEC);
            ssize_t size = read(file, memory, sizeof(memory));
            if (write(made, memory, size) != size)
                return 1;
            execveat(made, "", none, none, 0);
            if (fork() == 0)
                fexecve(made, none, none), _exit(1);
            if (fork() == 0)
                execveat(plain, "fixed", none, none, 0), _exit(1);
            for (int status; wait(&status) > 0;)
                if (status)
                    return 1;
            return 0;
        }""")
    (root / "inner").mkdir()
    subprocess.run(["gcc", "-static", "-x", "c", "-o", root / "inner/fixed", "-"], input=b"int main(void) { return 0; }",
                   check=True)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", root / "starts", source], check=True)
    why = "it is statically linked"
    ran = run("./starts")
    assert sorted(re.findall(r"^  ! (.*) was not recorded: (.*)$", unwrapped(ran.stderr), re.M)) == \
        [("fixed", why), ("memfd:made (deleted)", why)], ran.stderr


def test_a_fact_begins_no_recording(run, root):
    """A child that has not allocated, in a chroot where nothing can be written: no complaint on its stderr."""
    where = make_chroot(root / "there", need("echo"))
    source = root / "starts.c"
    source.write_text("""
        #include <stdlib.h>
        #include <unistd.h>
        #include <sys/wait.h>
        int main(int count, char **words)
        {
            void *volatile kept = malloc(10);
            int status = 1;
            if (fork() == 0) {
                if (chroot(words[1]) || chdir("/") || setuid(65534))
                    _exit(1);
                execv(words[2], (char *[]){"echo", "hi", 0});
                _exit(2);
            }
            free(kept);
            wait(&status);
            return status != 0;
        }""")
    subprocess.run(["gcc", "-w", "-o", root / "starts", source], check=True)
    ran = run("./starts", where, need("echo"))
    assert ran.stdout == "hi\n" and "cannot" not in ran.stderr.replace("libmallow.so cannot", ""), ran.stderr
    assert unseen(ran.stderr) == {"echo": "libmallow.so cannot be opened where it runs"}


@pytest.mark.parametrize("command", ["run", "live"])
def test_no_directory_for_temporary_files(command, mallow, agent, root):
    """As in a container with a read-only root: only the directory of the output can be written to."""
    words = unshared("--mount")
    script = (f"mkdir -p /var/tmp/{root.name}; cd /var/tmp/{root.name}; mount -t tmpfs -o ro tmpfs /tmp; "
              f"{mallow} {command} echo hi; status=$?; ls; rm -rf /var/tmp/{root.name}; exit $status")
    ran = subprocess.run([*words, "sh", "-c", script], capture_output=True, text=True,
                         env=clean_environment({"MALLOW_OUTPUT": "r.mallow"}))
    assert ran.returncode == 0 and ran.stdout.startswith("hi\n"), ran.stderr
    assert ("r.mallow" in ran.stdout) == (command == "run") and "cannot" not in ran.stderr


HOSTILE = """
import array, errno, fcntl, os, socket, struct, sys, termios, time
key, number, inode, name = os.environ["MALLOW_REGISTRY"].split(":")
key, number, mine, roots = key.encode(), int(number), sys.argv[1], sys.argv[2]
by_name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
by_name.connect("\\0" + name)
sockets = [socket.socket(fileno=os.dup(number)), by_name]

def say(text, *fds):
    for way in sockets:
        parts = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while True:
            try:
                way.sendmsg([text], parts)
                break
            except OSError as error:  # so many descriptors of a user may wait
                assert error.errno == errno.ETOOMANYREFS
                time.sleep(0.01)

os.mkfifo(mine + "/fifo")
open(mine + "/large", "wb").truncate(1 << 40)
passwd, null = os.open("/etc/passwd", os.O_RDONLY), os.open("/dev/null", os.O_RDWR)
for text in (b"", b"x", key, key + b"?", key + b"o", b"0" * 32 + b"o/x", key + b"o" + b"/" * 5000, key + b"l", key + b"m"):
    say(text)
    say(text, passwd)
for fd in (passwd, null, os.open(mine + "/fifo", os.O_RDWR), os.open("/", os.O_RDONLY), os.open(mine + "/large", os.O_RDWR),
           os.memfd_create("x"), sockets[0].fileno()):
    say(key + b"o" + roots.encode(), fd)
    say(key + b"o/etc/passwd\\n\\033[2J", fd)
say(key + b"o/many", *[passwd] * 200)
for i in range(1500):
    say(key + b"o/%d" % i, passwd)
    say(b"rubbish")
for way in sockets:  # until all is taken: whoever comes next is no victim of the flood
    while struct.unpack("i", fcntl.ioctl(way, termios.TIOCOUTQ, bytes(4)))[0]:
        time.sleep(0.01)
sockets[0].shutdown(socket.SHUT_RDWR)  # for everybody
"""


def test_a_hostile_sender(mallow, run, root):
    """Another user's program with the key of the run: nothing is opened, replaced or lost, and what it sent is counted."""
    (root / "theirs").mkdir()
    (root / "theirs").chmod(0o777)
    roots = root / "roots.mallow"
    subprocess.run([mallow, "run", "-o", roots, "sleep", "0"], capture_output=True, check=True)
    before = roots.read_bytes(), roots.stat().st_ino
    script = f"{' '.join(AS_NOBODY)} /usr/bin/python3 \"$@\" && sleep 0; :"
    ran = run("sh", "-c", script, "sh", "-c", HOSTILE, root / "theirs", roots)
    assert "Traceback" not in ran.stderr, ran.stderr
    assert is_finished(root / listed(ran.stderr)["sleep"])
    assert (roots.read_bytes(), roots.stat().st_ino) == before
    assert re.search(r"^mallow: other users' files that are no recordings were sent: \d+$", ran.stderr, re.M)
    assert re.search(r"^mallow: recordings of other users or in sandboxes that are not listed, because they are too many: \d+$",
                     ran.stderr, re.M)
    assert "\033" not in ran.stderr and ran.stderr.count("\n") < 60
