"""mallow live --http and --push: what stores and scrapers get of a running program."""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import pprof_reader
from conftest import TOP, clean_environment, need
from processes import wait_for
from profile_store import Store, otlp_text, profile_of
from traced_process import Target

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void keep_one(void) { static void *volatile kept; kept = malloc(1000); }
__attribute__((noinline)) void churn_one(void) { free(__builtin_memset(malloc(100), 1, 100)); }
static void work(const char *word, int times)
{
	for (int i = 0; i < times; i++)
		strcmp(word, "keep") == 0 ? keep_one() : churn_one();
}
int main(void)
{
	char word[64];
	pid_t children[8];
	int count = 0;
	setvbuf(stdout, NULL, _IONBF, 0), setvbuf(stdin, NULL, _IONBF, 0);
	puts("ready");
	while (scanf("%63s", word) == 1) {
		char *times = strchr(word, ':');
		*times = 0;
		if (strcmp(word, "child") == 0) { // keeps ten, until its parent ends
			if ((children[count++] = fork()) == 0)
				work("keep", 10), pause();
			usleep(300000);
		} else if (strcmp(word, "brief") == 0) { // so many in a row, each keeps ten and ends
			for (int i = 0; i < atoi(times + 1); i++) {
				pid_t child = fork();
				if (child == 0)
					work("keep", 10), exit(0);
				waitpid(child, NULL, 0);
			}
		} else {
			work(word, atoi(times + 1));
		}
		*times = ':';
		printf("done %s\n", word);
	}
	while (count)
		kill(children[--count], SIGKILL);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "served.c").write_text(PROGRAM.replace("#include <stdio.h>", "#include <signal.h>\n#include <stdio.h>"))
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "served", folder / "served.c"], check=True)
    return folder / "served"


class Live(Target):
    """The program below `mallow live`, and what that says."""

    def __init__(self, mallow, program, *options, **kept):
        super().__init__([mallow, "live", "--outfile", "/dev/null", *options, program], stderr=subprocess.PIPE,
                         **kept)
        self.said = ""

    def line(self):
        self.said += (line := self.process.stderr.readline())
        return line

    def end(self, status=0):
        """Lets the program end, and returns all that was said."""
        self.said += self.process.communicate(timeout=60)[1]
        assert self.process.returncode == status
        return self.said

    def __exit__(self, *all_):
        if self.process.returncode is None:
            super().__exit__(*all_)


class Served(Live):
    def __init__(self, mallow, program, *options, **kept):
        super().__init__(mallow, program, "--http", "127.0.0.1:0", *options, **kept)
        self.origin = re.search(r"http://127\.0\.0\.1:\d+", self.line())[0]

    def wait_for_table(self):
        """The tool hears of the program's table a moment after the program has begun it; before, there is no answer."""
        self.do("churn:1")
        wait_for(self.answers)
        return self

    def answers(self):
        try:
            return self.metrics()
        except urllib.error.HTTPError as error:
            assert error.code == 503
            return None

    def program_pid(self):
        return open(f"/proc/{self.pid}/task/{self.pid}/children").read().split()[0]

    def get(self, path, **headers):
        return urllib.request.urlopen(urllib.request.Request(self.origin + path, headers=headers), timeout=30)

    def profile(self, path="/debug/pprof/heap"):
        return pprof_reader.Profile(self.get(path).read())

    def metrics(self):
        with self.get("/metrics") as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return answer.read().decode()


def metric(text, name):
    return int(re.search(rf"^mallow_{re.escape(name)} (\d+)$", text, re.MULTILINE)[1])


def of_function(profile, function):
    """The values of all samples whose innermost named function it is."""
    return [values for stack, values in profile.samples
            if next((line[0] for _, _, lines in stack for line in lines if line[0] not in ("malloc",)), "") == function]


def test_what_a_scraper_gets(mallow, program):
    with Served(mallow, program).wait_for_table() as live:
        live.do("keep:7", "churn:4")
        text = live.metrics()
        assert 'mallow_function_live_bytes{function="keep_one"} 7000' in text
        assert 'mallow_function_live_blocks{function="keep_one"} 7' in text
        assert metric(text, "allocations_total") - metric(text, "live_blocks") == 5
        assert metric(text, "processes") == 1 and metric(text, "resident_bytes") > 1 << 20
        assert live.get("/healthz").read() == b"ok\n"
        for path in ("/debug/pprof/heap", "/debug/pprof/allocs"):
            profile = live.profile(path)
            assert [kind for kind, _ in profile.types] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
            assert of_function(profile, "keep_one") == [
                {"alloc_objects": 7, "alloc_space": 7000, "inuse_objects": 7, "inuse_space": 7000}]
            assert of_function(profile, "churn_one") == [
                {"alloc_objects": 5, "alloc_space": 500, "inuse_objects": 0, "inuse_space": 0}]
            # A store that gets a duration takes it for a change; the time is now.
            assert profile.raw.duration_nanos == 0 and abs(profile.raw.time_nanos / 1e9 - time.time()) < 60
            for table in (profile.raw.mapping, profile.raw.location, profile.raw.function):
                assert [row.id for row in table] == list(range(1, len(table) + 1))
        # What its children have is in it while they run; what they asked for is not forgotten.
        live.do("child:1")
        text = live.metrics()
        assert metric(text, "processes") == 2 and 'mallow_function_live_bytes{function="keep_one"} 17000' in text
        before = metric(text, "allocations_total")
        child, = open(f"/proc/{live.program_pid()}/task/{live.program_pid()}/children").read().split()
        subprocess.run(["kill", "-KILL", child], check=True)
        wait_for(lambda: metric(live.metrics(), "processes") == 1)
        text = live.metrics()
        assert metric(text, "allocations_total") >= before and 'bytes{function="keep_one"} 7000' in text
        live.end()
    with pytest.raises(urllib.error.URLError):
        live.get("/healthz")


def test_prometheus_own_checker(mallow, program):
    need("promtool")
    with Served(mallow, program).wait_for_table() as live:
        live.do("keep:7")
        subprocess.run(["promtool", "check", "metrics"], input=live.metrics(), text=True, check=True, capture_output=True)


def test_what_came_in_some_seconds(mallow, program):
    with Served(mallow, program).wait_for_table() as live:
        live.do("keep:7")
        answer = subprocess.Popen(["curl", "-s", f"{live.origin}/debug/pprof/heap?seconds=2"], stdout=subprocess.PIPE)
        time.sleep(0.7)
        live.do("keep:3", "churn:5")
        profile = pprof_reader.Profile(answer.communicate(timeout=30)[0])
        assert of_function(profile, "keep_one") == [
            {"alloc_objects": 3, "alloc_space": 3000, "inuse_objects": 3, "inuse_space": 3000}]
        assert 1.5e9 < profile.raw.duration_nanos < 10e9


def test_who_may_ask(mallow, program, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-that-is-long-enough\n")
    token.chmod(0o600)
    with Served(mallow, program, "--token-file", token) as live:
        with pytest.raises(urllib.error.HTTPError) as refused:
            live.metrics()
        assert refused.value.code == 401
        assert live.get("/healthz", Authorization="Bearer a-token-that-is-long-enough").read() == b"ok\n"
        # Scrapers call the machine by any name; who does not know the token may not.
        assert live.get("/healthz", Authorization="Bearer a-token-that-is-long-enough", Host="server.internal").read() == b"ok\n"
        with pytest.raises(urllib.error.HTTPError) as refused:
            live.get("/healthz", Authorization="Bearer another-token-that-is-long", Host="server.internal")
        assert refused.value.code == 403
    for options, said in ((["--http", "0.0.0.0:0"], "other machines can reach"), (["--http", "127.0.0.1:x"], "--http"),
                          (["--http", "127.0.0.1:0", "--allow-user", "no-such-user"], "there is no user")):
        run = subprocess.run([mallow, "live", *options, program], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             env=clean_environment())
        assert run.returncode and said in run.stderr and "ready" not in run.stdout, run.stderr


def test_the_program_inherits_nothing_of_it(mallow, tmp_path):
    """Neither descriptors nor limits nor how signals are handled."""
    script = "ulimit -Sn; grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; ls /proc/self/fd | wc -l"
    plain = subprocess.run([mallow, "live", "--outfile", "/dev/null", "sh", "-c", script], capture_output=True, text=True,
                           env=clean_environment())
    served = subprocess.run([mallow, "live", "--outfile", "/dev/null", "--http", "127.0.0.1:0", "--push",
                             "parca+http://127.0.0.1:1", "sh", "-c", script], capture_output=True, text=True,
                            env=clean_environment())
    assert served.stdout == plain.stdout and plain.stdout.count("\n") == 5


def pushed(mallow, program, store, kind, *options):
    return Live(mallow, program, "--push", f"{kind}+http://{store.place}", "--push-interval", "0.5",
                "--label", "version=1.2", *options)


@pytest.fixture
def store():
    made = []

    def start(*answers):
        made.append(Store(*answers))
        return made[-1]

    yield start
    for one in made:
        one.end()


@pytest.mark.parametrize("kind", ["pyroscope", "parca"])
def test_what_a_store_gets(mallow, program, store, kind):
    """Pyroscope adds up allocations, so it gets what came since; Parca keeps each profile, and wants no duration."""
    here = store()
    with pushed(mallow, program, here, kind) as live:
        live.do("keep:7", "churn:5")
        here.wait(2)
        live.do("keep:3")
        seen = len(here.requests)
        here.wait(seen + 2)
        said = live.end()
    assert said == ""
    profiles = [profile_of(request) for request in here.requests]
    for profile, labels, _ in profiles:
        assert (labels["__name__"], labels["service_name"], labels["version"]) == ("memory", "served", "1.2")
        assert labels["host"] and "pid" not in labels
        assert [kind for kind, _ in profile.types] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
        assert len(profile.samples) <= 16000
        for table in (profile.raw.mapping, profile.raw.location, profile.raw.function):
            assert [row.id for row in table] == list(range(1, len(table) + 1))
    kept = [sum(values["inuse_space"] for values in of_function(profile, "keep_one")) for profile, _, _ in profiles]
    assert kept[-1] == 10000 and sorted(kept) == kept
    allocated = [sum(values["alloc_objects"] for values in of_function(profile, "keep_one")) for profile, _, _ in profiles]
    churned = [sum(values["alloc_objects"] for values in of_function(profile, "churn_one")) for profile, _, _ in profiles]
    if kind == "pyroscope":
        assert sum(allocated) == 10 and sum(churned) == 5
        assert len({id_ for _, _, id_ in profiles}) == len(profiles)
    else:
        assert allocated[-1] == 10 and churned[-1] == 5
        assert all(profile.raw.duration_nanos == 0 for profile, _, _ in profiles)


@pytest.mark.parametrize("kind", ["pyroscope", "parca"])
def test_processes_that_come_and_go(mallow, program, store, kind):
    """Each allocation is in one profile, whoever made it; what ended processes had is in use by nobody."""
    here = store()
    with pushed(mallow, program, here, kind) as live:
        live.do("keep:100")
        here.wait(1)
        for _ in range(3):
            live.do("brief:20")
            here.wait(len(here.requests) + 1)
        live.do("child:1")
        here.wait(len(here.requests) + 2)
        live.end()
    profiles = [profile_of(request)[0] for request in here.requests]
    # Some children had stacks that no process has at a look: they are one sample of their own.
    allocated = [profile.sum("alloc_objects") for profile in profiles]
    total = 100 + 3 * 20 * 10 + 10
    others = 60 * 3  # of the C library in each process, at most
    assert min(allocated) >= 0
    assert total <= (sum(allocated) if kind == "pyroscope" else allocated[-1]) <= total + others
    if kind == "parca":
        assert allocated == sorted(allocated)
    kept = [sum(values["inuse_objects"] for values in of_function(profile, "keep_one")) for profile in profiles]
    assert kept[-1] == 100 and max(kept) <= 120 and 110 in kept


def test_tables_of_ended_processes_go(mallow, program):
    """Nobody looks, and they do not pile up; what they allocated is in the counters, and in no window as less."""
    with Served(mallow, program).wait_for_table() as live:
        live.do("keep:7", "brief:200")
        descriptors = len(os.listdir(f"/proc/{live.pid}/fd"))
        assert descriptors < 60, descriptors
        text = live.metrics()
        assert metric(text, "allocations_total") >= 2007 and metric(text, "live_blocks") < 20
        live.do("child:1")
        answer = subprocess.Popen(["curl", "-s", f"{live.origin}/debug/pprof/heap?seconds=2"], stdout=subprocess.PIPE)
        time.sleep(0.7)
        child, = open(f"/proc/{live.program_pid()}/task/{live.program_pid()}/children").read().split()
        subprocess.run(["kill", "-KILL", child], check=True)
        live.do("keep:3")
        profile = pprof_reader.Profile(answer.communicate(timeout=30)[0])
        assert profile.sum("alloc_objects") == 3 and profile.sum("inuse_objects") in range(-10, -5)


def test_in_a_pid_namespace(mallow, program):
    """The program's own number says nothing here."""
    need("unshare")
    with Served(mallow, program, "--", "unshare", "-pf", "--mount-proc").wait_for_table() as live:
        live.do("keep:7")
        assert 'mallow_function_live_blocks{function="keep_one"} 7' in live.metrics()
        live.do("keep:5")
        assert 'mallow_function_live_blocks{function="keep_one"} 12' in live.metrics()


def test_opentelemetry(mallow, program, store):
    here = store()
    with pushed(mallow, program, here, "otlp", "--push-interval", "300") as live:
        live.do("keep:7", "churn:5")
        live.end()
    request, = here.wait(1)
    assert request[1] == "/v1development/profiles" and request[2]["Content-Type"] == "application/x-protobuf"
    text = otlp_text(request)
    for name, value in (("service.name", "served"), ("service.version", "1.2")):
        assert re.search(rf'key: "{name}"\s+value {{\s+string_value: "{value}"', text), text[:2000]
    strings = re.findall(r'^  string_table: "(.*)"$', text, re.MULTILINE)
    profiles = re.split(r"^    profiles \{", text.split("\ndictionary {")[0], flags=re.MULTILINE)[1:]
    sums = {}
    for profile in profiles:
        kind = strings[int(re.search(r"type_strindex: (\d+)", profile)[1])]
        sums[kind] = sum(map(int, re.findall(r"^        values: (\d+)$", profile, re.MULTILINE)))
        assert ("duration_nano" in profile) == kind.startswith("alloc_")
        assert len(re.search(r'profile_id: "(.*)"', profile)[1]) >= 16
    assert strings[0] == "" and "keep_one" in strings and "process.executable.build_id.gnu" in strings
    assert sums["alloc_objects"] - sums["inuse_objects"] == 5 and sums["inuse_space"] >= 7000
    # Entry 0 of each table stands for none; stacks refer to locations that are there.
    for table in ("mapping", "location", "function", "link", "attribute", "stack"):
        assert re.search(rf"^  {table}_table \{{\n  \}}", text, re.MULTILINE), table
    places = len(re.findall(r"^  location_table \{", text, re.MULTILINE))
    named = [int(number) for number in re.findall(r"^    location_indices: (\d+)$", text, re.MULTILINE)]
    assert named and 0 < min(named) and max(named) < places


DECODE = """
import sys
import google.protobuf.unknown_fields as unknown
import opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 as service
request = service.ExportProfilesServiceRequest.FromString(open(sys.argv[1], "rb").read())
def check(message):
    assert not len(unknown.UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        for one in (value if field.is_repeated else [value]) if field.message_type else ():
            check(one)
check(request)
table, (resource,) = request.dictionary, request.resource_profiles
for profile in resource.scope_profiles[0].profiles:
    for sample in profile.samples:
        for index in table.stack_table[sample.stack_index].location_indices:
            place = table.location_table[index]
            assert index and table.mapping_table[place.mapping_index] and all(
                table.string_table[table.function_table[line.function_index].name_strindex] for line in place.lines)
    print(table.string_table[profile.sample_type.type_strindex], sum(sample.values[0] for sample in profile.samples))
"""


@pytest.mark.long
def test_opentelemetry_reads_it(mallow, tool, program, store, tmp_path):
    """By the messages that OpenTelemetry publishes for Python."""
    made = subprocess.run([sys.executable, "-m", "venv", tmp_path / "e"], capture_output=True)
    pip = [tmp_path / "e/bin/pip", "install", "-q", "opentelemetry-proto==1.45.2"]
    if made.returncode or subprocess.run(pip, capture_output=True).returncode:
        pytest.skip("opentelemetry-proto is not installed: PyPI does not give it")
    recording = tmp_path / "r.mallow"
    subprocess.run([mallow, "run", "-o", recording, program], input="keep:7\nchurn:5\n", text=True, check=True,
                   capture_output=True, env=clean_environment())
    here = store()
    tool("push", recording, f"otlp+http://{here.place}")
    (tmp_path / "body").write_bytes(here.requests[0][3])
    run = subprocess.run([tmp_path / "e/bin/python", "-c", DECODE, tmp_path / "body"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    sums = {line.split()[0]: int(line.split()[1]) for line in run.stdout.splitlines()}
    report = tool.report(recording)
    assert (sums["alloc_objects"], sums["alloc_space"], sums["inuse_space"], sums["peak_space"]) == (
        report["calls"], report["total_bytes"], report["leaked_bytes"], report["peak_bytes"])


COLLECTOR = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:PORT"}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [debug]}}
"""


@pytest.mark.long
def test_the_collector_takes_it(mallow, tool, program, tmp_path):
    """OpenTelemetry's own, built here in two minutes, where Go is new enough and its modules can be had."""
    folders = os.environ["PATH"] + ":/usr/local/go/bin"
    if not shutil.which("go", path=folders):
        pytest.skip("go is not installed")
    environment = {**os.environ, "PATH": folders, "GOPATH": str(tmp_path / "go"), "GOCACHE": str(tmp_path / "cache"),
                   "GOFLAGS": "-modcacherw"}
    (tmp_path / "build.yaml").write_text((TOP / "tests/e2e/lib/otel_collector.yaml").read_text().replace(
        "OUTPUT", str(tmp_path / "made")))
    for command in (["go", "install", "go.opentelemetry.io/collector/cmd/builder@v0.161.0"],
                    [tmp_path / "go/bin/builder", "--config", tmp_path / "build.yaml"]):
        run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        if run.returncode:
            pytest.skip(f"the collector cannot be built here: {run.stderr.splitlines()[-1]}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "run.yaml").write_text(COLLECTOR.replace("PORT", str(port)))
    recording, said = tmp_path / "r.mallow", tmp_path / "said"
    subprocess.run([mallow, "run", "-o", recording, program], input="keep:7\nchurn:5\n", text=True, check=True,
                   capture_output=True, env=clean_environment())
    with said.open("w") as output, subprocess.Popen(
            [tmp_path / "made/otelcol", "--config", tmp_path / "run.yaml", "--feature-gates=+service.profilesSupport"],
            stdout=output, stderr=output) as collector:
        try:
            wait_for(lambda: "Everything is ready" in said.read_text())
            tool("push", recording, f"otlp+http://127.0.0.1:{port}", "--label", "version=1.2")
            wait_for(lambda: "Profile #6" in said.read_text() and said.read_text().endswith("\n"))
        finally:
            collector.terminate()
    text, report = said.read_text(), tool.report(recording)
    assert "service.name: Str(served)" in text and "service.version: Str(1.2)" in text and "\n    keep_one\n" in text
    sums = [sum(map(int, re.findall(r"Values: \[(\d+)\]", part))) for part in re.split(r"^Profile #", text, flags=re.M)[1:]]
    assert sums == [report["calls"], report["total_bytes"], report["leaked_blocks"], report["leaked_bytes"],
                    report["peak_blocks"], report["peak_bytes"], report["temporary"]]


@pytest.mark.parametrize("answers", [[500, 429, 503], ["half"], [("late", 1.0)], [400, 400],
                                     pytest.param(["never"], marks=pytest.mark.long)])
def test_a_store_that_is_in_trouble(mallow, program, store, answers):
    """No allocation is lost, what fails is said once, and the program does not wait."""
    here = store(*answers)
    with pushed(mallow, program, here, "pyroscope") as live:
        live.do("keep:7")
        here.wait(len(answers) + 1)
        live.do("churn:5")
        here.wait(len(here.requests) + 1)
        said = live.end()
    # The store has seen these, and refused them: the sums are in the first one that it took.
    refused = sum(answer != ("late", 1.0) for answer in answers)
    taken = [profile_of(request)[0] for request in here.requests[refused:]]
    assert sum(values["alloc_objects"] for profile in taken for values in of_function(profile, "keep_one")) == 7
    assert sum(values["alloc_objects"] for profile in taken for values in of_function(profile, "churn_one")) == 5
    lines = said.splitlines()
    assert len(lines) == (2 if refused else 0) and "\x1b" not in said, said
    if refused:
        assert "did not take a profile" in lines[0] and lines[1].endswith("takes profiles again")


def test_a_store_that_is_not_there(mallow, program):
    with Live(mallow, program, "--push", "pyroscope+http://127.0.0.1:1/prefix", "--push-interval", "0.2") as live:
        live.do("keep:7")
        time.sleep(1)
        said = live.end()
    assert said.splitlines()[0].startswith("mallow: http://127.0.0.1:1/prefix/push.v1.PusherService/Push did not take a profile: ")
    assert re.search(r"did not take the last profile \(0 were taken, [2-9] tries failed\)$", said.splitlines()[-1]), said
    assert len(said.splitlines()) == 2


def test_what_is_no_place(mallow, program, tmp_path):
    headers = tmp_path / "headers"
    headers.write_text("no header\n")
    for options, said in ((["--push", "http://x"], "is no place to push to"),
                          (["--push", "parca+https://u:p@x"], "a password in a URL is seen by everybody"),
                          (["--push", "parca+http://x", "--label", "a-b=1"], "--label wants NAME=VALUE, with a name of letters, digits and _, not 'a-b=1'"),
                          (["--push", "parca+http://x", "--push-interval", "x"], "is no time"),
                          (["--push", "parca+http://x", "--push-headers", headers], "a line is no header")):
        run = subprocess.run([mallow, "live", *map(str, options), program], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, env=clean_environment())
        assert run.returncode and said in run.stderr and run.stderr.count("\n") == 1 and not run.stdout, run.stderr


def test_push_of_a_recording(mallow, tool, program, store, tmp_path):
    """Once, with headers of its own; the same by way of a file of pprof."""
    recording = tmp_path / "r.mallow"
    subprocess.run([mallow, "run", "-o", recording, program], input="keep:7\nchurn:5\n", text=True, check=True,
                   capture_output=True, env=clean_environment())
    headers = tmp_path / "headers"
    headers.write_text("# a comment\nX-Scope-OrgID: team\r\nAuthorization: Bearer secret\n")
    here = store(200, 200, 403)
    tool("push", recording, f"pyroscope+http://{here.place}/prefix", "--push-headers", headers, "--label", "env=test")
    profile, labels, _ = profile_of(here.requests[0])
    assert here.requests[0][2]["X-Scope-OrgID"] == "team" and here.requests[0][2]["Authorization"] == "Bearer secret"
    assert labels["service_name"] == "served" and labels["env"] == "test"
    report = tool.report(recording)
    assert profile.sum("alloc_space") == report["total_bytes"] and profile.sum("inuse_space") == report["leaked_bytes"]
    packed = tmp_path / "r.pb.gz"
    tool("export", "--to", "pprof", "-o", packed, recording)
    tool("push", packed, f"parca+http://{here.place}", "--label", "service=other")
    again, labels, _ = profile_of(here.requests[1])
    assert labels["service_name"] == "other" and again.sum("alloc_space") == report["total_bytes"]
    run = tool("push", recording, f"parca+http://{here.place}", check=False)
    assert run.returncode == 1 and "did not take the profile: HTTP status 403: evil \\x1b[31mtext\\x0d\\x0aof a store" in run.stderr
