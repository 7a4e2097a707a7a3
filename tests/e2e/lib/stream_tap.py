"""Stands in for what follows a recording in memory: takes its descriptor, copies it and punches out what is sealed.

A Tap is what MALLOW_REGISTRY names with STREAM_ONLY. Each recording that is opened is a Tapped.
"""
import array
import ctypes
import os
import socket
import struct

PAGE = 4096
CHUNK_MAGIC = b"\xd1MLWCHK\xa7"
HEAD = struct.Struct("<IIIIII")  # of a chunk, at offset 8
SLOT, SEALED = 1, 2
PUNCH_HOLE, KEEP_SIZE = 2, 1

libc = ctypes.CDLL(None, use_errno=True)


def punch(fd, offset, size):
    if libc.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, ctypes.c_long(offset), ctypes.c_long(size)):
        raise OSError(ctypes.get_errno(), "fallocate")


class Tapped:
    """One recording in memory, and the copy that a receiver would have."""

    def __init__(self, fd):
        self.fd = fd
        self.copy = {}  # offset of a page: its bytes

    @property
    def name(self):
        return os.readlink(f"/proc/self/fd/{self.fd}")

    @property
    def taken(self):
        """The bytes of memory that the recording takes."""
        return os.fstat(self.fd).st_blocks * 512

    def _chunks(self):
        """(offset, size, whether it is sealed) of all that is there."""
        size, at = os.fstat(self.fd).st_size, PAGE
        while at < size:
            head = os.pread(self.fd, 64, at)
            if head[:8] != CHUNK_MAGIC:
                at += PAGE
                continue
            _, length, _, flags, _, _ = HEAD.unpack_from(head, 8)
            yield at, length, flags & SEALED
            at += length

    @property
    def slots(self):
        return sum(size for _, size, sealed in self._chunks() if not sealed)

    def _keep(self, offset, size):
        for at in range(offset, offset + size, PAGE):
            self.copy[at] = os.pread(self.fd, PAGE, at)

    def pull(self):
        """Copies and punches out the sealed chunks. Returns how many bytes that were."""
        pulled = 0
        for offset, size, sealed in list(self._chunks()):
            if sealed:
                self._keep(offset, size)
                punch(self.fd, offset, size)
                pulled += size
        return pulled

    def save(self, path):
        """The whole recording, as a receiver has it in the end."""
        self.pull()
        self._keep(0, PAGE)
        for offset, size, _ in self._chunks():
            self._keep(offset, size)
        with open(path, "wb") as file:
            for offset, page in self.copy.items():
                file.seek(offset)
                file.write(page)
            file.truncate(max(os.fstat(self.fd).st_size, max(self.copy) + PAGE))
        return path

    def close(self):
        os.close(self.fd)


class Tap:
    def __init__(self):
        self.key, name = os.urandom(16).hex(), "tap-" + os.urandom(8).hex()
        self.registry = f"{self.key}:0:0:{name}"  # src/trace/registry.h
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name)
        self.socket.settimeout(20)
        self.recordings = []

    def next(self):
        fds = array.array("i")
        message = self.key.encode() + b"x"
        while message.startswith(self.key.encode() + b"x"):  # a recording could not be created
            message, ancillary, _, _ = self.socket.recvmsg(4200, socket.CMSG_SPACE(fds.itemsize))
        assert message.startswith(self.key.encode() + b"o")
        for level, what, data in ancillary:
            assert (level, what) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            fds.frombytes(data)
        tapped = Tapped(fds[0])
        self.recordings.append(tapped)
        return tapped

    def rest(self):
        """The recordings that wait to be taken. Who asks closes them."""
        self.socket.setblocking(False)
        try:
            while True:
                recording = self.next()
                self.recordings.remove(recording)
                yield recording
        except BlockingIOError:
            self.socket.settimeout(20)

    def close(self):
        self.socket.close()
        for recording in self.recordings:
            recording.close()
