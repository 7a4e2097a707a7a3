"""What end to end tests share: the built tool, samples compiled on demand, programs recorded.

    MALLOW=…/mallow pytest tests/e2e     tests another build than build/mallow
    MALLOW_ASAN=…/mallow                 the sanitizer build for damaged recordings
    MALLOW_BUNDLE=…/mallow-0.1.0-…       that unpacked tarball; what needs the wheel beside it fails
    MALLOW_ARCH=aarch64                  programs of that architecture, which qemu runs, with the agent
                                         of MALLOW_LIBRARY; what is there of it: docs/ports.md
    MALLOW_GUEST=…/root                  these programs run under a kernel of that architecture, booted
                                         with that root file system
    pytest --long                        also the tests that take long
"""
import collections
import functools
import gc
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import guest as guests  # noqa: E402
import mallow_reader  # noqa: E402
import mallow_sums  # noqa: E402
import report_json  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = TOP / "tests" / "samples"
COMPILERS = {("gcc", "c"): "gcc", ("gcc", "cpp"): "g++", ("clang", "c"): "clang",
             ("clang", "cpp"): "clang++", ("musl", "c"): "musl-gcc"}
ARCH = os.environ.get("MALLOW_ARCH")
SYSROOT = TOP / "build" / str(ARCH) / "sysroot"
PACKAGES = SYSROOT.exists()  # whether Debian has any of that architecture
GUEST = os.environ.get("MALLOW_GUEST")
# Without a sysroot the compiler's own C library does.
FOREIGN = [*([f"--sysroot={SYSROOT}"] if SYSROOT.exists() else []), "-fasynchronous-unwind-tables"]
TRIPLE = None  # of its compilers and libraries
if ARCH:
    (TRIPLE, QEMU), = (line.split()[2:7:4] for line in open(TOP / "tools/cross/architectures.txt")
                       if line.split()[:1] == [ARCH])
    COMPILERS = {("gcc", "c"): f"{TRIPLE}-gcc", ("gcc", "cpp"): f"{TRIPLE}-g++"}
if ARCH and not SYSROOT.exists():
    SYSROOT = pathlib.Path("/usr", TRIPLE)
EMULATED = bool(ARCH) and QEMU != "-"
WORD = 4 if ARCH in ("i386", "armhf", "armel") else 8
if ARCH and not EMULATED:
    LOADER = SYSROOT / "lib/ld-linux.so.2"
    LIBRARIES = ":".join(f"{SYSROOT}/{folder}/{ARCH}-linux-gnu" for folder in ("lib", "usr/lib")) if PACKAGES \
        else f"{SYSROOT}/lib"
    FOREIGN += [f"-Wl,--dynamic-linker={LOADER}", f"-Wl,-rpath,{LIBRARIES},--disable-new-dtags"]
LANGUAGE = {"c": ["-std=gnu17"], "cpp": ["-std=c++17", "-fsized-deallocation"]}
# Compilers know these functions, and make one of another or drop a pair of calls.
NO_BUILTINS = [f"-fno-builtin-{name}" for name in ("malloc", "calloc", "realloc", "free", "strdup")]
# What Debian's musl-gcc leaves out and other compilers for musl do: without it nobody can unwind.
MUSL = ["-Wl,--eh-frame-hdr"]
ALL = "1000000000"
# Recordings are read into millions of tuples, which the collector would look through again and again:
# that is two fifths of a reading.
gc.set_threshold(500_000)


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests that take long")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, runs with --long only")
    config.addinivalue_line("markers", "native(why): not with the programs of another architecture: MALLOW_ARCH")
    # nohup ignores SIGHUP, and a shell SIGINT and SIGQUIT in what it starts with `&`. What is ignored
    # stays so in children, some of which die by these; what has a handler is reset by exec.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    if not hasattr(config, "workerinput"):
        for number in STOPS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, stop_once)


STOPS = (signal.SIGINT, signal.SIGTERM)


def stop_once(*_):
    """Ctrl-C, and the SIGTERM of timeout(1) and tools/check.py; often both come. pytest says what had failed."""
    for number in STOPS:
        signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt


def pytest_collection_modifyitems(config, items):
    for item in items:
        native = item.get_closest_marker("native")
        if EMULATED and native and not GUEST:
            item.add_marker(pytest.mark.skip(reason=f"not under qemu: {native.args[0]}"))
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long"))


def need(program):
    """The path of a program, or the test is skipped and says so."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def built(variable, default):
    path = pathlib.Path(os.environ.get(variable) or default)
    if not path.exists():
        pytest.fail(f"{path} is not built: make build build-asan", pytrace=False)
    return path


@pytest.fixture(scope="session")
def reads(request):
    """Whether the independent reader, which takes its time, reads what it has read once elsewhere."""
    return request.config.getoption("--long")


@pytest.fixture(scope="session")
def mallow():
    """The tool, build/mallow unless MALLOW names another."""
    return built("MALLOW", TOP / "build" / "mallow")


@pytest.fixture(scope="session")
def agent(mallow):
    """The agent beside the tool."""
    return built("MALLOW_LIBRARY", mallow.with_name("libmallow.so"))


@pytest.fixture(scope="session")
def bundle(agent, tmp_path_factory):
    """`make tarball`'s folder, unpacked."""
    if "MALLOW_BUNDLE" in os.environ:
        return pathlib.Path(os.environ["MALLOW_BUNDLE"])
    if agent.parent != TOP / "build":
        pytest.skip("the bundle is made of the ordinary build")
    need("patchelf")
    release = tmp_path_factory.mktemp("release")
    # Each worker makes its own; the build that it is made of is brought up to date by one at a time.
    run = subprocess.run(["flock", TOP / "build/meson", "make", "-C", TOP, "tarball", "wheel", f"release={release}", "zstd=1"],
                         capture_output=True, text=True, env=clean_environment({"MAKEFLAGS": None, "MAKELEVEL": None}))
    assert run.returncode == 0, run.stdout + run.stderr
    folder, = release.glob("mallow-*-linux-*/")
    return folder


@pytest.fixture(scope="session")
def asan_mallow():
    """The tool built with the address and undefined sanitizers."""
    return built("MALLOW_ASAN", TOP / "build" / "asan" / "mallow")


def clean_environment(extra=None):
    """The caller's environment without settings of ours and with a terminal that has colours, and the
    additions (None removes). The readline of Python 3.13 sets LINES and COLUMNS, which ncurses believes."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MALLOW") and name not in ("LD_PRELOAD", "LINES", "COLUMNS")}
    environment["TERM"] = "xterm-256color"
    for name, value in (extra or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = str(value)
    return environment


class Tool:
    """The tool's commands, each with its result parsed."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments, check=True, **options):
        run = subprocess.run([str(self.path), *map(str, arguments)], capture_output=True, text=True,
                             env=clean_environment(), errors="backslashreplace", timeout=300,
                             **options)
        if check and run.returncode:
            raise AssertionError(f"mallow {' '.join(map(str, arguments))}: "
                                 f"status {run.returncode}\n{run.stderr}")
        return run

    def info(self, path):
        parsed = json.loads(self("info", "--json", path).stdout)
        return parsed[0] if isinstance(parsed, list) else parsed

    def report(self, path):
        """All sites, each with its stack."""
        return report_json.load(self("report", "--json", "--top", ALL, path).stdout)

    def assert_equal_sums(self, path, sums=None):
        """The tool's report and the independent reader say the same, down to each stack."""
        sums = sums or mallow_sums.Sums(mallow_reader.read(path))
        report = self.report(path)
        for field in ("calls", "total_bytes", "peak_bytes", "leaked_bytes", "leaked_blocks",
                      "temporary"):
            assert report[field] == getattr(sums, field), field
        assert report["duration_s"] == pytest.approx(
            sums.recording.seconds(sums.recording.end_ticks), abs=1e-6)
        if sums.peak_bytes:
            assert report["peak_time_s"] == pytest.approx(
                sums.recording.seconds(sums.peak_ticks), abs=1e-6)
        ours, theirs = rows_of_reader(sums), rows_of_report(report)
        assert len(ours) == len(theirs), "sites"
        for stack, row in ours.items():
            assert theirs.get(stack) == row, f"stack {[hex(pc) for pc in stack]}"
        assert_agrees_with_memory(report)
        return report


def assert_agrees_with_memory(report):
    """Of every sample the memory that is resident is explained, and what is said of its end is true."""
    assert "unexplained" not in [finding["kind"] for finding in report["findings"]]
    if "Everything" in report["headline"]["freed"]:
        assert not report.get("mapped", {}).get("left_bytes")


FIELDS = ("calls", "total_bytes", "peak_bytes", "own_peak_bytes", "leaked_bytes", "temporary")


def rows_of_reader(sums):
    """{addresses innermost first: the sums of all stacks that have them}"""
    rows = collections.defaultdict(lambda: [0] * len(FIELDS))
    for stack, site in sums.sites.items():
        values = (site.calls, site.total_bytes, site.peak_bytes, site.own_peak_bytes,
                  site.live_bytes, site.temporary)
        add_row(rows[tuple(pc - 1 if pc > 15 else 0 for pc, _ in stack)], values)
    return dict(rows)


def rows_of_report(report):
    rows = collections.defaultdict(lambda: [0] * len(FIELDS))
    for site in report["sites"]:
        stack = tuple(address_of(frame) for frame in site["stack"] if not frame.get("inlined"))
        add_row(rows[stack], [site[field] for field in FIELDS])
    return dict(rows)


def add_row(row, values):
    for index, value in enumerate(values):
        row[index] += value


def address_of(frame):
    address = frame["address"]
    return int(address, 0) if isinstance(address, str) else address


@pytest.fixture(scope="session")
def tool(mallow):
    return Tool(mallow)


def begin_ns(path):
    """When the recording began; 0 if it has no header. Numbers of processes, which are in the names of
    files, begin anew when the largest was given."""
    with open(path, "rb") as file:
        try:
            return mallow_reader.Header(file.read(mallow_reader.PAGE)).monotonic
        except mallow_reader.NotARecording:
            return 0


class Recorded:
    """A program that ran, and its recordings, read when asked for."""

    def __init__(self, tool, folder, run):
        self.tool, self.folder, self.run = tool, folder, run
        self.returncode, self.stdout, self.stderr = run.returncode, run.stdout, run.stderr

    @property
    def paths(self):
        """Every recording, the first image's first, then in the order in which they began."""
        return sorted(self.folder.glob("r.mallow*"), key=lambda p: (p.name != "r.mallow", begin_ns(p), p.name))

    @property
    def path(self):
        """The recording of the first image."""
        path = self.folder / "r.mallow"
        assert path.exists(), f"no recording; stderr of the program: {self.stderr}"
        return path

    @functools.cached_property
    def reader(self):
        return mallow_reader.read(self.path)

    @functools.cached_property
    def readers(self):
        return [mallow_reader.read(path) for path in self.paths]

    @functools.cached_property
    def sums(self):
        return mallow_sums.Sums(self.reader)

    @functools.cached_property
    def report_json(self):
        return self.tool.report(self.path)

    @functools.cached_property
    def info_json(self):
        return self.tool.info(self.path)

    def assert_sound(self, complete=True):
        """What holds for every recording of a program that ended by itself."""
        for reader in self.readers:
            assert not reader.damages
            assert reader.missing == 0
            assert reader.dangling() == ([], [])
            assert reader.header.lost == 0, reader.header.losses
            assert reader.header.losses["broken_stacks"] == 0
            if complete:
                assert reader.header.ended


def by_emulator(command, environment):
    """The command as qemu runs it, or this processor. What is preloaded is the program's, not qemu's."""
    if not EMULATED:
        return [str(LOADER), "--library-path", LIBRARIES, *command] if str(SYSROOT) in command[0] else command
    preloaded = environment.pop("LD_PRELOAD", None)
    return [need(f"qemu-{QEMU}"), "-L", str(SYSROOT), *(["-E", f"LD_PRELOAD={preloaded}"] if preloaded else []), *command]


@pytest.fixture(scope="session")
def guest(tmp_path_factory):
    """The kernel in which programs run, if not this one."""
    if not GUEST:
        yield None
        return
    booted = guests.Guest(ARCH, pathlib.Path(GUEST), TOP, tmp_path_factory.mktemp("guest"))
    yield booted
    booted.close()


# In namespaces of its own: this machine's /usr/lib, and in it the loader.
WITH_LOADER = """mount -t tmpfs tmp /mnt && mkdir /mnt/upper /mnt/work || exit 125
mount -t overlay overlay -o lowerdir=/usr/lib,upperdir=/mnt/upper,workdir=/mnt/work /usr/lib || exit 125
ln -sf {loader} /usr/lib/ld-linux.so.2
export LD_LIBRARY_PATH={libraries} mallow={mallow}
"""


def run_with_loader(mallow, script):
    result = subprocess.run(["unshare", "-m", "sh", "-c", WITH_LOADER.format(loader=LOADER, libraries=LIBRARIES, mallow=mallow)
                             + script], capture_output=True, text=True, timeout=300, env=clean_environment())
    if result.returncode == 125 or "unshare failed" in result.stderr:
        pytest.skip(f"a file system is to be mounted: {result.stderr}")
    assert result.returncode == 0, f"status {result.returncode}: {result.stdout}{result.stderr}"
    return result


@pytest.fixture
def there(guest, agent, tmp_path):
    """there(script): runs it in the guest, or where programs of 32 bits find their loader; $mallow is the tool that is
    built for it."""
    if not (agent.parent / "mallow").exists():
        pytest.skip("the agent alone is built there")
    if not guest:
        return functools.partial(run_with_loader, agent.parent / "mallow")
    releases = {pathlib.Path(f"{folder}.made").read_text().split()[0] for folder in (SYSROOT, GUEST)}
    if len(releases) > 1:
        pytest.skip(f"the tool's libraries and the guest are of two releases: {releases}")

    def run(script):
        libraries = ":".join(f"{SYSROOT}/{folder}/{TRIPLE}" for folder in ("lib", "usr/lib"))
        result = guest.run(["sh", "-c", f"export LD_LIBRARY_PATH={libraries} mallow={agent.parent}/mallow\n{script}"],
                           {}, tmp_path, 300)
        assert result.returncode == 0, f"status {result.returncode}: {result.stdout}{result.stderr}"
        return result

    return run


@pytest.fixture
def record(tool, agent, tmp_path, guest):
    """record(command, …): runs a program under the agent, bare or by `mallow run`.

    linked: the agent is in the program already.
    """

    def run(command, bare=True, linked=False, settings=None, env=None, folder=None, check=True, timeout=120,
            text=True, **options):
        folder = pathlib.Path(folder or tmp_path / f"recording{len(list(tmp_path.iterdir()))}")
        folder.mkdir(exist_ok=True)
        environment = clean_environment(env)
        given = {"OUTPUT": folder / "r.mallow", **(settings or {})}
        command = [str(word) for word in command]
        if bare and not linked:
            environment["LD_PRELOAD"] = str(agent)
        elif not bare:
            if ARCH and not guest:
                pytest.skip("the tool that would start it is this machine's")
            command = [str(tool.path), "run", "--", *command]
        environment.update({f"MALLOW_{name}": str(value) for name, value in given.items()})
        if guest:
            if options or not bare:
                pytest.skip("not in the guest: it needs more of this machine")
            result = guest.run(command, environment, folder, timeout)
        else:
            if ARCH:
                command = by_emulator(command, environment)
            result = subprocess.run(command, env=environment, capture_output=True, text=text,
                                    timeout=timeout, **options)
        if check:
            assert result.returncode == 0, f"status {result.returncode}: {result.stderr}"
        return Recorded(tool, folder, result)

    return run


@pytest.fixture
def preload(agent, tmp_path):
    """preload(**settings): an environment for programs that a test starts itself."""

    def environment(env=None, **settings):
        result = clean_environment(env)
        result["LD_PRELOAD"] = str(agent)
        result.update({f"MALLOW_{name}": str(value) for name, value in settings.items()})
        return result

    return environment


@functools.lru_cache(maxsize=None)
def sample_source(name):
    for suffix in ("c", "cpp"):
        path = SAMPLES / f"{name}.{suffix}"
        if path.exists():
            return path, suffix
    raise FileNotFoundError(f"no sample {name} in {SAMPLES}")


def compile_to(target, command):
    """Runs a compiler unless the result is there; safe for several processes at once."""
    if target.exists():
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    run = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True)
    assert run.returncode == 0, f"{' '.join(command)}\n{run.stderr}"
    partial.rename(target)


def build_sample(name, compiler="gcc", opt="-O0", extra=()):
    """The path of a sample program. compiler is gcc, clang or musl. Results are kept in build/samples under
    a hash of source and command, so only what changed is compiled again."""
    source, language = sample_source(name)
    if (compiler, language) not in COMPILERS:
        pytest.skip(f"{compiler} is not tried for {ARCH}")
    driver = need(COMPILERS[compiler, language])
    # The loader's place is for programs that have one.
    foreign = [flag for flag in FOREIGN if "-static-pie" not in extra or not flag.startswith("-Wl,")]
    command = [driver, *(foreign if ARCH else []), "-g", opt, "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread",
               *NO_BUILTINS, f"-I{SAMPLES}", f"-I{TOP / 'include'}", *LANGUAGE[language], str(source),
               *map(str, extra), *(MUSL if compiler == "musl" else []), "-ldl"]
    read = [source, *sorted(SAMPLES.glob("*.h"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in read) +
                            " ".join(command).encode()).hexdigest()[:16]
    folder = TOP / "build" / "samples" / digest
    folder.mkdir(parents=True, exist_ok=True)
    compile_to(folder / name, command)
    return folder / name


@pytest.fixture(scope="session")
def compile_sample():
    """build_sample(), for tests."""
    return build_sample


# Ways to link the agent into a program: compiler and flags. mallow-agent.pc says the same.
LINKED = {
    "shared": ("gcc", ["-Wl,-rpath,@folder@", "-Wl,--push-state,--no-as-needed", "-lmallow", "-Wl,--pop-state"]),
    "static": ("gcc", ["-static"]),
    "static-pie": ("gcc", ["-static-pie", "-fPIE"]),
    "clang": ("clang", ["-static"]),
    "musl": ("musl", ["-static"]),
}


def flags_to_link(agent, way):
    """For the compiler, behind the sources; way is of LINKED."""
    flags = [flag.replace("@folder@", str(agent.parent)) for flag in LINKED[way][1]]
    if way != "shared":
        flags += [f"-Wl,@{agent.parent}/libmallow.options", "-lmallow"]
    return [f"-L{agent.parent}", *flags]


@pytest.fixture(scope="session")
def compile_linked(compile_sample, agent):
    """compile_linked(name, way, opt="-O1", extra=()): a sample that has the agent in it."""
    # In the command, so that another agent is linked anew.
    version = hashlib.sha256(b"".join(agent.with_name(name).read_bytes() for name in
                                      ("libmallow.a", "libmallow.options"))).hexdigest()[:16]

    def build(name, way, opt="-O1", extra=()):
        ask = [COMPILERS["gcc", "c"], *FOREIGN[:PACKAGES], "-print-file-name=rcrt1.o"]
        if way == "static-pie" and ARCH and "/" not in subprocess.run(ask, capture_output=True, text=True).stdout:
            pytest.skip(f"the C library of {ARCH} has no start for programs that are static and move")
        flags = [f"-DAGENT={version}", *flags_to_link(agent, way)]
        return compile_sample(name, LINKED[way][0], opt, [*flags, *extra])

    return build


@pytest.fixture(scope="session")
def inner_allocator(compile_sample):
    """What links a sample to an allocator in the middle of whose functions it is called."""
    library = compile_sample("inner_allocator", "gcc", "-O1", ["-fno-builtin", "-shared", "-fPIC"])
    return [library, f"-Wl,-rpath,{library.parent}"]


class Functions:
    """Code addresses of one ELF file to the names of its symbol table, by nm."""

    def __init__(self, path):
        listing = subprocess.run(["nm", "--defined-only", "-S", "-n", "-C", str(path)],
                                 capture_output=True, text=True, check=True).stdout
        self.spans = []
        for line in listing.splitlines():
            fields = line.split(None, 3)
            if len(fields) == 4 and fields[2] in "tTwWi":
                start = int(fields[0], 16)
                self.spans.append((start, start + int(fields[1], 16), fields[3].split("(")[0]))

    @functools.lru_cache(maxsize=None)
    def at(self, address):
        for start, end, name in self.spans:
            if start <= address < end:
                return name
        return None


def names_of_stack(recording, stack, functions_of):
    """Names of the frames, innermost first; None where the symbol table says nothing."""
    names = []
    for pc, module in stack:
        fact = recording.modules.get(module)
        functions = functions_of(fact["path"]) if fact else None
        names.append(functions.at(pc - 1 - fact["bias"]) if functions else None)
    return names


@pytest.fixture(scope="session")
def functions_of():
    """functions_of(path): the Functions of an ELF file that is there, else None."""

    @functools.lru_cache(maxsize=None)
    def find(path):
        return Functions(path) if os.path.exists(path) else None

    return find
