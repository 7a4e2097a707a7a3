"""Python code of all kinds, run by test_python.py under the agent. Each probe allocates blocks of sizes that no other
has, and says what sys._getframe() says of its callers: one line of JSON for each size, into the file that is named."""
import asyncio
import contextlib
import ctypes
import functools
import json
import os
import random
import signal
import sys
import threading
import weakref

FIRST = 200_001
HEAD = 33 if sys.version_info >= (3, 15) else 1  # so much CPython adds to a bytearray
libc, kept, said = ctypes.CDLL(None), [], {}  # its calls release the GIL
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p


def say(size, frame, line):
    said[size] = [[frame.f_code.co_filename, line, getattr(frame.f_code, "co_qualname", frame.f_code.co_name)]]
    while frame := frame.f_back:
        said[size].append([frame.f_code.co_filename, frame.f_lineno,
                           getattr(frame.f_code, "co_qualname", frame.f_code.co_name)])


def probe():
    size, frame = FIRST + len(said), sys._getframe()
    kept.append(bytearray(size - HEAD)); line = frame.f_lineno
    say(size, frame, line)
    kept.append(libc.malloc(size + 1)); line = frame.f_lineno
    say(size + 1, frame, line)
    return 1


def recursion(depth):
    if depth:
        return recursion(depth - 1)
    return probe()


def generator():
    probe()
    yield 1
    yield from (probe() for _ in range(2))


class Dunders:
    def __init__(self):
        probe()

    def __getattr__(self, name):
        return probe()

    def __del__(self):
        probe()

    def __eq__(self, other):
        return bool(probe())

    def __hash__(self):
        return 1

    @property
    def value(self):
        return probe()

    def __enter__(self):
        probe()

    def __exit__(self, *how):
        probe()


def language():
    probe()
    recursion(5)
    recursion(200)
    list(map(lambda x: probe(), [1, 2]))
    sorted([3, 1], key=lambda x: (probe(), x)[1])
    list(generator())
    thing = Dunders()
    thing.missing, thing.value, {thing: 1}.get(Dunders())
    with thing:
        probe()
    del thing
    [probe() for _ in range(2)], {probe(): 1 for _ in range(2)}
    with contextlib.suppress(ValueError):
        try:
            raise ValueError
        finally:
            probe()
    functools.partial(probe)(), functools.reduce(lambda x, y: probe(), [1, 2, 3])


def texts():
    scope = {"probe": probe}
    exec(compile("probe()\ndef q():\n\n  probe()\nq()", "<äöü €>", "exec"), scope)
    exec(compile("def Ж():\n  probe()\nЖ()", "/tmp/日本.py", "exec"), scope)
    exec(compile("def " + "n" * 10_000 + "():\n  probe()\n" + "n" * 10_000 + "()", "long", "exec"), scope)
    exec(compile("\n" * 70_000 + "probe()", "deep", "exec"), scope)
    eval("probe()", scope)
    # Code objects that come and go, at addresses that were others'.
    for i in range(60):
        exec(f"def made{i % 7}():\n{'  x = 1;' * (i % 5)}  \n  probe()\nmade{i % 7}()".replace(";  \n", "\n"), scope)


def foreign():
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: probe() and 0)
    callback()
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda x, y: (probe(), 0)[1])
    libc.qsort((ctypes.c_int * 3)(3, 2, 1), 3, 4, compare)
    handle = signal.signal(signal.SIGUSR1, lambda *given: probe())
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, handle)

    class Gone:
        pass
    gone = Gone()
    weakref.finalize(gone, probe)
    del gone


def threads():
    lock = threading.Lock()

    def work():
        with lock:
            probe()
            recursion(3)
    started = [threading.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def tasks():
    async def inner(depth):
        await asyncio.sleep(0)
        probe()
        if depth:
            await inner(depth - 1)

    async def numbers():
        for i in range(2):
            probe()
            yield i

    async def all_of_it():
        await asyncio.gather(inner(2), inner(1))
        async for _ in numbers():
            probe()
    asyncio.run(all_of_it())


def traced():
    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "recursion":
            probe()
    sys.setprofile(profile)
    recursion(2)
    sys.setprofile(None)


def at_random():
    """A program of its own for each seed: functions that call each other in loops, by C code and by Python's."""
    choose = random.Random(int(os.environ.get("PROBE_SEED", "1")))

    def step(depth):
        for _ in range(choose.randrange(1, 3)):
            kind = choose.randrange(6)
            if depth == 0 or kind == 0:
                probe()
            elif kind == 1:
                list(map(step, [depth - 1]))
            elif kind == 2:
                list(step(depth - 1) for _ in range(1))
            elif kind == 3:
                functools.reduce(lambda x, y: step(depth - 1), [1, 2])
            elif kind == 4:
                (lambda: step(depth - 1))()
            else:
                step(depth - 1)
        return 1
    for _ in range(20):
        step(4)


def main():
    probe()
    for part in language, texts, foreign, threads, tasks, traced, at_random:
        part()
    if "fork" in sys.argv:
        child = os.fork()
        if child == 0:
            kept.clear(), said.clear()
            recursion(4)
            language()
        else:
            os.waitpid(child, 0)
    with open(f"{sys.argv[1]}.{os.getpid()}", "w") as file:
        json.dump(dict(said), file)
    if "fork" in sys.argv and child == 0:
        os._exit(0)


if __name__ == "__main__":
    main()
