"""Marks, switches and tags of mallow, a heap profiler for Linux, in a Python program.

    import mallow

    mallow.mark("loaded")

`mallow run python3 app.py` records the program, and `mallow report --by mark` shows what was allocated
from each mark to the next. In a program that is not recorded every function here does nothing.

include/mallow/mallow.h has the contract of each function: they are the ones of C.
"""
import contextlib
import ctypes
import os
from typing import Iterator, Optional

__all__ = ["available", "is_running", "mark", "marked", "recording", "set_tag", "start", "stop", "sync"]

_MAGIC = b"\x89MLW\r\n\x1a\n"


def _find_agent() -> Optional[ctypes.CDLL]:
    try:
        process = ctypes.CDLL(None)
        process.mallow_api_mark.argtypes = [ctypes.c_char_p]
        process.mallow_api_mark.restype = None
        process.mallow_api_set_tag.argtypes = [ctypes.c_uint32]
        process.mallow_api_set_tag.restype = None
    except (AttributeError, OSError, TypeError):
        return None  # no library in this process has the functions
    return process


_agent = _find_agent()


def available() -> bool:
    """Whether this process runs under mallow, be recording on or off."""
    return _agent is not None


def mark(name: str) -> None:
    """Gives this moment a name in the recording: at most 1,000 bytes of UTF-8, up to the first NUL."""
    if _agent:
        _agent.mallow_api_mark(name.encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def marked(name: str) -> Iterator[None]:
    """Marks the begin of a block of code with `name`, and its end with "end of " and the name."""
    mark(name)
    try:
        yield
    finally:
        mark("end of " + name)


def start() -> None:
    """Starts recording, for all threads, unless it is on already."""
    if _agent:
        _agent.mallow_api_start()


def stop() -> None:
    """Stops recording until the next start."""
    if _agent:
        _agent.mallow_api_stop()


def is_running() -> bool:
    """Whether allocations are being recorded."""
    return bool(_agent and _agent.mallow_api_is_running())


def sync() -> bool:
    """Puts all that was recorded until now into the file. False: there is no recording, or that failed."""
    return bool(_agent and _agent.mallow_api_sync() == 0)


def set_tag(tag: int) -> None:
    """From now on the calling thread's allocations carry this number; 0: none."""
    if _agent:
        _agent.mallow_api_set_tag(tag)


def recording() -> Optional[str]:
    """The path of this process's recording. None: there is none, or it is in no file.

    A forked child has a recording of its own: ask again there.
    """
    for name in os.listdir("/proc/self/fd") if _agent else ():
        try:
            path = os.readlink("/proc/self/fd/" + name)
            if not path.startswith("/") or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                header = file.read(52)
        except OSError:
            continue  # closed since it was listed, or not to be read
        # The agent keeps its recording open; the program may have another one open, to read it.
        if header[:8] == _MAGIC and int.from_bytes(header[48:52], "little") == os.getpid():
            return path
    return None
