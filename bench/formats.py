"""What other programs' formats cost: each export of a recording of clang++, its import from heaptrack's file beside
heaptrack's own report, `mallow strip` of a hundred million events, and a question of `mallow sql` to ten million blocks.

Exports that show blocks read every event; what that alone takes is that of `report --size-min 0`, which shows sums of the
blocks that a filter leaves: all."""
import dataclasses
import http.server
import json
import shutil
import subprocess
import threading

import measuring
import table
import workloads
from place import TOP
from profilers import BenchError

EXPORTS = {"speedscope": False, "callgrind": False, "csv": False, "pprof": False, "massif": True, "dhat": True,
           "firefox": True, "heaptrack": True}        # whether blocks are read
STRIPPED = 50_000_000
ASKED = 10_000_000
DUCKDB = TOP / "web/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so"
QUESTION = "SELECT site_id, sum(size) AS bytes FROM blocks GROUP BY 1 ORDER BY 2 DESC LIMIT 10"


@dataclasses.dataclass
class Figures:
    exports: dict           # {format: [(CPU seconds, bytes of memory at most)]}
    engine: dict            # {whether blocks are read: the same}
    imports: list           # CPU seconds
    printed: list           # of heaptrack_print
    strip: tuple            # of the large recording, and how many allocations it has
    tables: dict            # of clang's as Parquet: {"blocks", "bytes" of the files, "recording" bytes, "used": as exports}
    asked: list             # seconds that the question takes beyond an empty one; []: no library
    pushed: list            # CPU seconds of mallow push


def used_by(place, command, folder):
    """What a command used that must succeed."""
    used, _ = measuring.use_of(place, command, measuring.clean_environment({}), folder, "/dev/null", folder / "stderr")
    if used["status"]:
        raise BenchError(f"{command[1]}: {(folder / 'stderr').read_text()}")
    return used


def use_of(place, command, folder):
    """(CPU seconds, peak bytes) of a command that must succeed."""
    used = used_by(place, command, folder)
    return used["user"] + used["system"], used["peak"]


def compile_words(folder):
    return ["clang++", "-std=c++17", "-O2", "-c", workloads.SOURCES / "regex.cpp", "-o", folder / "regex.o"]


def measure_exports(place, folder, rounds, progress):
    progress("a recording of clang++, exported")
    path = folder / "clang.mallow"
    subprocess.run([place.mallow, "run", "-o", path, "--", *compile_words(folder)], capture_output=True, check=True,
                   env=measuring.clean_environment({}))
    exports, engine = {name: [] for name in EXPORTS}, {False: [], True: []}
    for _ in range(rounds):
        engine[False].append(use_of(place, [place.mallow, "report", "--csv", "--top", "1", path], folder))
        engine[True].append(use_of(place, [place.mallow, "report", "--csv", "--top", "1", "--size-min", "0", path], folder))
        for name in EXPORTS:
            exports[name].append(use_of(place, [place.mallow, "export", "--to", name, "-o", folder / "out", path], folder))
    return exports, engine


def measure_tables(place, folder, rounds, progress):
    """The recording of clang++ as Parquet."""
    progress("a recording of clang++ as tables")
    path, tables = folder / "clang.mallow", folder / "tables"
    used = [use_of(place, [place.mallow, "export", "--to", "parquet", "-o", tables, path], folder) for _ in range(rounds)]
    said = subprocess.run([place.mallow, "info", "--json", path], capture_output=True, check=True)
    return {"blocks": json.loads(said.stdout)["allocations"], "bytes": sum(file.stat().st_size for file in tables.iterdir()),
            "recording": path.stat().st_size, "used": used}


def measure_asked(place, folder, blocks, rounds, progress):
    """Seconds that a question takes once the tables are there."""
    if not DUCKDB.exists():
        return []
    progress("a large recording, asked in SQL")
    path = folder / "asked.mallow"
    subprocess.run([place.program("make_recording"), path, str(blocks), "20000"], check=True)
    seconds = {query: [used_by(place, [place.mallow, "sql", "--duckdb", DUCKDB, query, path], folder)["wall"] for _ in range(rounds)]
               for query in ("SELECT 1", QUESTION)}
    path.unlink()
    return [max(0.0, asked - min(seconds["SELECT 1"])) for asked in seconds[QUESTION]]


class Sink(http.server.BaseHTTPRequestHandler):
    """A store that takes everything."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def measure_push(place, folder, rounds, progress):
    """CPU seconds of `mallow push` beyond opening the recording, which has 8,192 sites."""
    progress("a recording of many sites, pushed")
    path = folder / "sites.mallow"
    subprocess.run([place.mallow, "run", "-o", path, "--", place.program("many_sites"), "13"], capture_output=True, check=True,
                   env=measuring.clean_environment({}))
    store = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=store.serve_forever, daemon=True).start()
    pushed, opened = [], []
    for _ in range(5 * rounds):
        pushed.append(use_of(place, [place.mallow, "push", path, f"pyroscope+http://127.0.0.1:{store.server_address[1]}"], folder)[0])
        opened.append(use_of(place, [place.mallow, "info", "--json", path], folder)[0])
    store.shutdown()
    return [max(0.0, cpu - min(opened)) for cpu in pushed]


def measure_imports(place, folder, rounds, progress):
    """CPU seconds of mallow import and of heaptrack_print, in turn."""
    if not shutil.which("heaptrack_print"):
        return [], []
    progress("heaptrack's file of clang++, imported")
    subprocess.run(["heaptrack", "-o", folder / "track", *compile_words(folder)], capture_output=True, check=True,
                   env=measuring.clean_environment({}))
    imports, printed = [], []
    for _ in range(rounds):
        imports.append(use_of(place, [place.mallow, "import", folder / "track.zst", "-o", folder / "track.mallow"], folder)[0])
        (folder / "track.mallow").unlink()
        printed.append(use_of(place, ["heaptrack_print", folder / "track.zst"], folder)[0])
    return imports, printed


def measure_strip(place, folder, allocations, progress):
    progress("a large recording, stripped")
    path = folder / "large.mallow"
    subprocess.run([place.program("make_recording"), path, str(allocations), "2000"], check=True)
    seconds, memory = use_of(place, [place.mallow, "strip", path, "-o", folder / "stripped.mallow"], folder)
    return seconds, memory, allocations


def measure(place, progress, fast):
    """(lines, Figures or None)"""
    if not shutil.which("clang++"):
        return ["Not measured: clang++ not installed"], None
    folder, rounds = place.run_folder(), 1 if fast else 3
    try:
        exports, engine = measure_exports(place, folder, rounds, progress)
        tables = measure_tables(place, folder, rounds, progress)
        pushed = measure_push(place, folder, rounds, progress)
        asked = measure_asked(place, folder, ASKED // 50 if fast else ASKED, rounds, progress)
        imports, printed = measure_imports(place, folder, rounds, progress)
        strip = measure_strip(place, folder, STRIPPED // 50 if fast else STRIPPED, progress)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [[name, table.pair([cpu for cpu, _ in found]), table.megabytes(min(memory for _, memory in found))]
            for name, found in (("sums alone", engine[False]), ("with blocks", engine[True]), *exports.items(), ("parquet", tables["used"]))]
    lines = table.rows(["", "CPU s", "MB at most"], rows)
    lines += ["", f"as parquet {table.megabytes(tables['bytes'])} MB, of {table.count(tables['blocks'])} blocks; "
                  f"the recording has {table.megabytes(tables['recording'])} MB"]
    if asked:
        lines += [f"mallow sql, a grouped sum over {table.count(ASKED // 50 if fast else ASKED)} blocks: {table.pair(asked)} s after the export"]
    lines += [f"mallow push of 8,192 sites: {table.pair([1e3 * cpu for cpu in pushed])} ms of CPU beyond opening the recording"]
    if imports:
        lines += ["", *table.rows(["", "CPU s"], [["mallow import", table.pair(imports)],
                                                  ["heaptrack_print", table.pair(printed)]])]
    lines += ["", f"strip of {table.count(strip[2])} allocations: {strip[0]:.1f} s, {table.megabytes(strip[1])} MB"]
    return lines, Figures(exports, engine, imports, printed, strip, tables, asked, pushed)
