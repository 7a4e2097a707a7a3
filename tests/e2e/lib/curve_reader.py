"""
An independent reader of the curve that a finished recording carries, from docs/trace-format.md alone
("Curve"). curve_of(path) gives what /series answers about the whole run, without names and times.
"""
import mallow_reader
from recording_writer import ChunkWriter
from symbols_reader import Bytes, payload_of

FATES = ["never_freed", "freed_late", "freed_soon"]


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def parse(payload):
    source = Bytes(payload)
    assert source.number() == 2, "version"
    source.take(8)  # the fingerprint
    steps = source.number()
    ends = [source.number() for _ in range(steps)]
    peak = [source.number() for _ in range(5)]
    curves = []
    for fate in FATES:
        live, rows = (0, 0), []
        for _ in range(steps):
            born, births, died, deaths = (source.number() for _ in range(4))
            live = live[0] + born - died, live[1] + births - deaths
            rows.append((*live, born, births, died, deaths))
        curves.append((fate, list(zip(*rows))))
    last = [sum(column) for column in zip(*(columns[0] for _, columns in curves))]
    most = [max(before, after) + source.number() for before, after in zip([0, *last], last)]
    slack = [unzigzag(source.number()) for _ in range(steps)]
    assert source.at == len(payload), "bytes behind the end"
    return {"at_ns": [sum(ends[:i + 1]) for i in range(steps)], "peak": peak, "curves": curves, "live_last": last, "live_most": most,
            "live_slack": [sum(slack[:i + 1]) for i in range(steps)]}


def curve_of(path):
    payload = payload_of(path.read_bytes(), mallow_reader.CURVE)
    return parse(payload) if payload is not None else None


def with_payload(path, payload):
    """The file with another payload in its curve chunk."""
    data = path.read_bytes()
    [chunk] = [chunk for chunk in mallow_reader.Recording._walk(data)
               if chunk.kind == mallow_reader.CURVE]
    return data[:chunk.offset] + curve_chunk(payload) + data[chunk.offset + chunk.size:]


def curve_chunk(payload):
    chunk = ChunkWriter(0, 0, 0)
    chunk.kind = mallow_reader.CURVE
    chunk.payload += b"\0" + payload
    return chunk.image()
