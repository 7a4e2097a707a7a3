"""A file system in user space that hangs on request: fuse_server.py FOLDER. It has one folder of files in
memory. Lines of its standard input: `hang` (nothing is answered), `go`; it ends with the input. Says a
line when it is mounted and after each command."""
import ctypes
import errno
import os
import select
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, SETATTR, MKNOD, UNLINK, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 8, 10, 14, 15, 16, 17, 18
FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET = 20, 25, 26, 27, 28, 29, 35, 36, 42
WRITE_MAX = 1 << 17
SIZE_IS_SET = 8

names, files = {}, {}  # name -> node; node -> bytes


def attributes(node):
    size = len(files.get(node, b""))
    mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o600
    now = int(time.time())
    return struct.pack("<6Q10I", node, size, size // 512, now, now, now, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def entry(node):
    return struct.pack("<4Q2I", node, 0, 1, 1, 0, 0) + attributes(node)


def text(body):
    return body[:body.index(b"\0")]


def answer(opcode, node, body):
    """The reply's body, or a negative error number."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 8, 8, WRITE_MAX, 1, 0, 0, 0, *[0] * 7)
    if opcode == LOOKUP:
        return entry(names[text(body)]) if text(body) in names else -errno.ENOENT
    if opcode in (GETATTR, SETATTR):
        valid, _, _, size = struct.unpack_from("<IIQQ", body) if opcode == SETATTR else (0, 0, 0, 0)
        if valid & SIZE_IS_SET:
            files[node][size:] = bytes(max(0, size - len(files[node])))
        return struct.pack("<QII", 1, 0, 0) + attributes(node)
    if opcode == CREATE:
        made = names[text(body[16:])] = len(names) + 2
        files[made] = bytearray()
        return entry(made) + struct.pack("<QII", 0, 0, 0)
    if opcode == UNLINK:
        return b"" if names.pop(text(body), None) else -errno.ENOENT
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(files[node][offset:offset + size])
    if opcode == WRITE:
        _, offset, size = struct.unpack_from("<QQI", body)
        content = files[node]
        content.extend(bytes(max(0, offset + size - len(content))))
        content[offset:offset + size] = body[40:40 + size]
        return struct.pack("<II", size, 0)
    if opcode == STATFS:
        return struct.pack("<5Q10I", 1 << 20, 1 << 20, 1 << 20, 1000, 1000, 4096, 255, 4096, *[0] * 7)
    if opcode in (RELEASE, RELEASEDIR, FSYNC, FLUSH, READDIR):
        return b""
    return -errno.ENOSYS


def main():
    folder = sys.argv[1]
    fuse = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"fuse", folder.encode(), b"fuse", 6, f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    print("mounted", flush=True)
    hangs = False
    while True:
        ready, _, _ = select.select([0] if hangs else [0, fuse], [], [])
        if 0 in ready:
            line = sys.stdin.readline()
            if not line:
                break
            hangs = line == "hang\n"
            print("done", flush=True)
        elif fuse in ready:
            request = os.read(fuse, WRITE_MAX + 8192)
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if opcode in (FORGET, INTERRUPT, BATCH_FORGET):
                continue
            body = answer(opcode, node, request[40:])
            error, body = (body, b"") if isinstance(body, int) else (0, body)
            os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
    libc.umount2(folder.encode(), 2)


main()
