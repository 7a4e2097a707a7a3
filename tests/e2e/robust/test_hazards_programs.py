"""Real programs under `mallow run`, with their own checks: servers under load, compilers, test
suites, pictures, Java, a browser. Seconds each; what takes longer is behind --long."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from cells import mostly_long
from conftest import clean_environment, need
from real_programs import REGEX, free_port, repository, run_bare, wait_for_port  # noqa: F401


def assert_undamaged(recorded, complete=True):
    """Every image's recording is whole. Some end by a signal, which is no fault."""
    assert recorded.paths
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0
        assert reader.dangling() == ([], [])
        assert reader.header.lost == 0, reader.header.losses
        assert reader.header.ended or not complete


def under_run(tool, path, command, *options):
    return [str(word) for word in (tool.path, "run", "-o", path, *options, "--", *command)]


def undamaged(tool, folder):
    """The infos of all recordings of a folder."""
    infos = [tool.info(path) for path in sorted(pathlib.Path(folder).glob("r.mallow*"))]
    assert infos
    for info in infos:
        assert info["damaged_chunks"] == 0 and info["missing_chunks"] == 0 and info["lost"] == 0
    return infos


@contextlib.contextmanager
def ends_with(process):
    """The process is gone afterwards, whatever happens meanwhile."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def postgres_binary(name):
    """The program itself: what Debian puts on the PATH for clients is a script that chooses one."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not found:
        pytest.skip(f"PostgreSQL's {name} is not installed")
    return str(found[-1])


def test_postgres(tool, agent):
    """initdb, a server of many processes, pgbench, a clean end: PostgreSQL will not run as root."""
    programs = {name: postgres_binary(name) for name in ("initdb", "postgres", "pgbench", "psql")}
    if os.getuid():
        pytest.skip("needs root to become another user")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        library = pathlib.Path(name) / "libmallow.so"
        shutil.copy(agent, library)  # where another user may read it
        library.chmod(0o644)

        def run(*command, **options):
            environment = clean_environment({"LD_PRELOAD": library, "LC_ALL": "C",
                                             "MALLOW_OUTPUT": f"{name}/r.mallow"})
            return subprocess.Popen(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 *map(str, command)], env=environment, cwd=name, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, **options)

        def finished(*command):
            process = run(*command)
            output = process.communicate(timeout=120)[0]
            assert process.returncode == 0, output
            return output

        port = str(free_port())
        finished(programs["initdb"], "-D", f"{name}/data", "-U", "u", "-A", "trust", "-N")
        with ends_with(run(programs["postgres"], "-D", f"{name}/data", "-p", port, "-k", name,
                           "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")) as server:
            wait_for_port(int(port), server)
            # It listens before it answers; its last line then says "ready".
            while not (pathlib.Path(name) / "data" / "postmaster.pid").read_text().rstrip().endswith("ready"):
                assert server.poll() is None
                time.sleep(0.02)
            login = ["-h", "127.0.0.1", "-p", port, "-U", "u"]
            finished(programs["pgbench"], *login, "-i", "-q", "postgres")
            output = finished(programs["pgbench"], *login, "-c", "4", "-t", "50", "postgres")
            assert "number of transactions actually processed: 200/200" in output
            output = finished(programs["psql"], *login, "-Atc",
                              "select count(*) from pgbench_accounts", "postgres")
            assert output == "100000\n"
            server.send_signal(signal.SIGINT)  # "fast": ends its children, writes everything
            assert server.wait(timeout=60) == 0
        infos = undamaged(tool, name)
        assert len(infos) > 10 and sum(info["events"] for info in infos) > 10000


NGINX = """
worker_processes 2;
pid {folder}/pid;
error_log {folder}/error;
events {{}}
http {{
	access_log {folder}/access;
	client_body_temp_path {folder};
	proxy_temp_path {folder};
	fastcgi_temp_path {folder};
	uwsgi_temp_path {folder};
	scgi_temp_path {folder};
	server {{
		listen 127.0.0.1:{port};
		root {folder};
	}}
}}
"""


def test_nginx(tool, tmp_path):
    """A daemon with workers of another user, under load of wrk: no answer is an error."""
    server, load = need("/usr/sbin/nginx"), need("wrk")
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o777)
        port = free_port()
        (folder / "conf").write_text(NGINX.format(folder=folder, port=port))
        (folder / "page").write_text("x" * 2000)
        command = [server, "-c", folder / "conf", "-g", "daemon off;"]
        with ends_with(subprocess.Popen(
                under_run(tool, tmp_path / "r.mallow", command), text=True,
                env=clean_environment(), stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)) as process:
            wait_for_port(port, process)
            run = run_bare([load, "-t1", "-c20", "-d2s", f"http://127.0.0.1:{port}/page"])
            assert run.returncode == 0 and "Requests/sec" in run.stdout
            assert "Non-2xx" not in run.stdout and "Socket errors" not in run.stdout, run.stdout
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        infos = undamaged(tool, tmp_path)
        assert len(infos) >= 3, "the master and two workers"
    finally:
        shutil.rmtree(folder)


# What depends on the machine: this one waits for ever where a virtual machine's sockets lead nowhere.
LEFT_OUT = {"test_socket": ["--ignore", "*VSOCK*"]}


@pytest.mark.parametrize("module", mostly_long([
    "test_json", "test_threading", "test_bytes", "test_list", "test_dict", "test_generators",
    "test_subprocess", "test_multiprocessing_fork", "test_signal", "test_ctypes", "test_mmap",
    "test_faulthandler", "test_os", "test_socket"], 2))
def test_python_modules(module, record):
    """Python's own tests pass with every object a malloc, or fail without the agent, too."""
    if subprocess.run(["/usr/bin/python3", "-c", f"import test.{module}"],
                      capture_output=True).returncode:
        pytest.skip("Python's own tests are not installed")
    # -w: what fails is run again, alone, since some of them depend on how busy the machine is.
    command = ["/usr/bin/python3", "-m", "test", "-w", *LEFT_OUT.get(module, []), module]
    recorded = record(command, env={"PYTHONMALLOC": "malloc"}, timeout=1200, check=False,
                      settings={"FOLLOW": 0})
    if recorded.returncode:
        plain = run_bare(command, {"PYTHONMALLOC": "malloc"}, timeout=1200)
        assert plain.returncode, recorded.stdout[-3000:]
        pytest.skip(f"{module} fails by itself")
    assert recorded.stdout.endswith("SUCCESS\n")
    info = recorded.info_json
    assert info["lost"] == 0 and info["damaged_chunks"] == 0 and info["complete"]


def test_git_fsck(record, repository):  # noqa: F811
    """git checks its repository, in threads."""
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}
    plain = run_bare(["git", "fsck", "--full", "--strict"], environment, cwd=repository)
    recorded = record(["git", "fsck", "--full", "--strict"], env=environment, cwd=repository)
    assert (recorded.stdout, recorded.returncode) == (plain.stdout, plain.returncode) == ("", 0)
    assert_undamaged(recorded)


@pytest.mark.parametrize("compiler", mostly_long(["g++", "clang++"], 1))
def test_compile_and_link(compiler, record, tmp_path, tool):
    """The driver, compiler, assembler and linker: the program is the same, byte by byte."""
    need(compiler)
    source = tmp_path / "regex.cpp"
    source.write_text(REGEX + 'int main() { return !matches("abc-12"); }\n')
    program = tmp_path / "program"
    command = [compiler, "-O1", source, "-o", program]
    subprocess.run(command, check=True)
    expected = program.read_bytes()
    program.unlink()
    recorded = record(command, bare=False, timeout=200)
    assert program.read_bytes() == expected
    assert subprocess.run([program]).returncode == 0
    infos = undamaged(tool, recorded.folder)
    assert sum(info["events"] for info in infos) > 100000


def test_imagemagick(record, tmp_path, tool):
    """Threads of OpenMP at work on a picture."""
    convert = need("/usr/bin/convert")
    plain, traced = tmp_path / "plain.ppm", tmp_path / "traced.ppm"

    def command(path):
        return [convert, "-size", "400x400", "gradient:red-blue", "-blur", "0x4", "-rotate", "30",
                "-depth", "8", f"ppm:{path}"]

    subprocess.run(command(plain), check=True)
    recorded = record(command(traced), bare=False)
    assert plain.read_bytes() == traced.read_bytes()
    undamaged(tool, recorded.folder)


JAVA = """
public class Hello {
	public static void main(String[] arguments) throws Exception {
		Thread[] threads = new Thread[4];
		long[] sums = new long[4];
		for (int i = 0; i < 4; i++) {
			int n = i;
			threads[i] = new Thread(() -> {
				java.util.Map<String, Integer> map = new java.util.HashMap<>();
				for (int k = 0; k < 20000; k++)
					map.merge("key" + k % 1000, 1, Integer::sum);
				sums[n] = map.values().stream().mapToLong(v -> v).sum();
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		java.nio.ByteBuffer.allocateDirect(1 << 20);
		System.out.println(java.util.Arrays.stream(sums).sum());
	}
}
"""


def test_java_version(record):
    """The machine starts, compiles at run time, and ends."""
    java = need("java")
    plain = run_bare([java, "-version"])
    recorded = record([java, "-version"])
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, plain.stderr)
    assert_undamaged(recorded)


def test_java_program(record, tmp_path, tool):
    java = need("java")
    need("javac")
    (tmp_path / "Hello.java").write_text(JAVA)
    recorded = record([java, tmp_path / "Hello.java"], bare=False, timeout=200)
    assert recorded.stdout == "80000\n"
    assert sum(info["events"] for info in undamaged(tool, recorded.folder)) > 10000


FORKS = """
total=0
for i in $(seq 1 40); do
	(exit $((i % 3))) || total=$((total + 1))
	x=$(echo $i | sed 's/^/n/' | tr n m)
	wait
done
{ sleep 0.01 & sleep 0.01 & wait; } 2>/dev/null
trap 'echo usr1' USR1; kill -USR1 $$
exec 3>&1 4<&0; exec 3>&- 4<&-
echo $total $x; coproc cat; echo through >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo $line
"""


def test_bash_forks(record):
    """Some two hundred processes, each with its recording."""
    plain = run_bare(["/bin/bash", "-c", FORKS])
    recorded = record(["/bin/bash", "-c", FORKS])
    assert recorded.stdout == plain.stdout == "usr1\n27 m40\nthrough\n"
    assert recorded.stderr == plain.stderr
    assert_undamaged(recorded, complete=False)
    assert len(recorded.paths) > 100


def test_chromium_prints_a_page(record, tmp_path, tool):
    """A browser of many processes in a sandbox of its own, with its own allocator, makes a PDF."""
    chromium = need("chromium")
    page, made = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text("<h1>Hello</h1>" + "<p>text" * 200)
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={made}", page.as_uri()]
    recorded = record(command, check=False, timeout=110)
    assert recorded.returncode == 0, recorded.stderr[-2000:]
    assert made.read_bytes()[:5] == b"%PDF-"
    infos = [tool.info(path) for path in recorded.paths]
    assert all(info["damaged_chunks"] == 0 for info in infos) and len(infos) > 3
