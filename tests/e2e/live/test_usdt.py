"""mallow live --usdt: the probes that OpenTelemetry's eBPF profiler waits for, as gdb finds them."""
import math
import re
import subprocess

from conftest import clean_environment, need

PROGRAM = r"""
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 4000; i++) {
		void *volatile block = malloc(1000);
		if (i % 4)
			free(block);
	}
	void *volatile large = malloc(100 << 20);
	free(large);
}
"""
SCRIPT = """
set startup-with-shell off
break main
run
break -probe-stap otel_memory:alloc
commands
silent
printf "alloc %lx %ld %ld\\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "free %lx\\n", $_probe_arg0
continue
end
continue
"""


def hits(agent, program, folder, **settings):
    script = folder / "script.gdb"
    script.write_text(SCRIPT)
    environment = clean_environment({"MALLOW_MODE": "live", "MALLOW_OUTFILE": "/dev/null", "MALLOW_SEED": "3",
                                     **{f"MALLOW_{name}": str(value) for name, value in settings.items()}})
    run = subprocess.run(["gdb", "-batch", "-ex", f"set environment LD_PRELOAD {agent}", "-x", script, program],
                         capture_output=True, text=True, env=environment, timeout=120)
    assert "exited normally" in run.stdout, run.stdout + run.stderr
    return [(line[0], *(int(number, base) for number, base in zip(line[1].split(), (16, 10, 10))))
            for line in re.findall(r"^(alloc|free) (.*)$", run.stdout, re.MULTILINE)]


def test_samples_hit_the_probes(agent, tmp_path):
    """Each sampled block once, with the bytes that it stands for, and its end; nothing unless it is asked for."""
    need("gdb")
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, tmp_path / "program.c"], check=True)
    found = hits(agent, program, tmp_path, USDT=1)
    allocations = [hit for hit in found if hit[0] == "alloc"]
    mean = 512 << 10
    for _, address, size, weighted in allocations:
        assert address and abs(weighted - size / (1 - math.exp(-size / mean))) <= 1
    assert allocations[-1][2:] == (100 << 20, 100 << 20)
    # 4,000 blocks of 1,000 bytes: some eight samples.
    assert 2 <= len(allocations) - 1 <= 20 and all(hit[2] == 1000 for hit in allocations[:-1])
    live = set()
    for kind, address, *_ in found:
        assert (address in live) == (kind == "free"), found
        live.symmetric_difference_update({address})
    assert allocations[-1][1] not in live
    assert len(hits(agent, program, tmp_path, USDT=1, SAMPLE="64K")) > 3 * len(found)
    assert hits(agent, program, tmp_path, SAMPLE="64K") == []
