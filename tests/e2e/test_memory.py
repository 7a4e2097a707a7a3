"""The agent's own memory: how much a thread costs, and that memory samples leave it out."""
import subprocess

THREADS = 50
PER_THREAD = 256 * 1024
CLOSE = 1 << 20  # libraries, the loader's own pages: not all runs touch the same


def numbers(text):
    """Resident, anonymous and virtual size that the sample printed, in bytes."""
    return [1024 * int(word) for word in text.split()]


def test_own_memory(compile_sample, record):
    program = compile_sample("many_threads", "gcc", "-O2")
    alone = numbers(subprocess.run([program, "allocate"], capture_output=True, text=True,
                                   check=True).stdout)
    # Often enough for one near the highest moment, which is over in less than a second.
    recorded = record([program, "allocate"], settings={"MEMORY_SAMPLES": "20ms"})
    under = numbers(recorded.stdout)
    used = under[0] - alone[0]
    assert used > THREADS * 32 * 1024, "the test no longer sees the agent's memory"
    assert used <= (THREADS + 1) * PER_THREAD + CLOSE
    samples = [fact for fact in recorded.reader.facts if fact["kind"] == "memory"]
    largest = max(samples, key=lambda sample: sample["resident"])
    assert abs(largest["resident"] - alone[0]) <= CLOSE
    assert abs(largest["anonymous"] - alone[1]) <= CLOSE
    assert largest["virtual"] <= alone[2] + (THREADS + 1) * CLOSE
