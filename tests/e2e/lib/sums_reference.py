"""Sums by key a second time: slow, obvious, on the blocks of filter_reference.py. For `mallow report --by`
and --histogram:

    report(blocks, numbers, "function", program)    {what a row is of: (own sums, inclusive)}
    histogram(blocks, numbers, "size")              ({(lowest, highest): [calls, bytes]}, leaked)

For /sums:

    rows(made, blocks, ["function", "size"])        {(key, key): columns}
    inclusive(made, blocks, "function")             {name: columns}

made: a servers.Made; blocks: those that match, in the order of their allocation. A key is a tuple of
what the answer says of it: name, file, thread, stack, least, largest. Of marks at one time, and of
pools that handed out one address, it has all names.
"""
import collections
import os

import mallow_sums
import series_reference as series
from mallow_reader import ENTRIES

PARTS = 64  # of the run, by time
FIELDS = ("peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks", "total_bytes", "calls",
          "temporary")
UNITS = [1, 10**3, 10**6, 10**9]
TIMES = [0] + [unit * 2**i for unit in UNITS for i in range(10 if unit < 10**9 else 35)]
SIZES = [-1, 0] + [2**i for i in range(64)]


def brackets(module):
    return f"[{module.rsplit('/', 1)[-1]}]"


def frame_name(frame, by, program):
    """As a row is called; frame: (pc, function, source, module); program: a queries.Program."""
    _, function, source, module = frame
    if by in ("function", "frame"):
        if function is None:
            return brackets(module)
        return function if module == str(program.path) else f"{function} {brackets(module)}"
    if by == "line" and source:
        return f"{source}:{program.line_of[frame[:2]]}"
    if by in ("file", "line"):
        return source or brackets(module)
    return module


def own_code(frames):
    """The frames of the reader's own code; without any, the one that stands for the stack."""
    named = [frame for frame in frames if frame[1] is not None]
    return [frame for frame in named if not frame[1].startswith("_mi_")] or named[:1] or frames[:1]


def rows_of(blocks, block, by, program):
    """(the row of its own, all rows that it is in)"""
    if by == "thread":
        return block.tid, []
    if by == "size":
        return block.event.size, []
    if by == "mark":
        return between_marks(blocks, block)[1:], []
    frames = blocks.frames(block)
    if by in ("function", "file", "line"):
        frames = own_code(frames)
    names = [frame_name(frame, by, program) for frame in frames]
    return (names[0], set(names)) if names else ("[no stack]", {"[no stack]"})


def sums_of(blocks, chosen, at_peak):
    """chosen: blocks; at_peak: numbers of those live at the peak of all that match."""
    sums = blocks.sums(chosen)
    alive = [block for block in chosen if block.index in at_peak]
    return {**{field: sums[field] for field in FIELDS}, "own_peak_bytes": sums["peak_bytes"],
            "peak_bytes": sum(block.event.size for block in alive), "peak_blocks": len(alive)}


def in_class(value, bounds):
    """(lowest, highest) of the class that value is in; bounds: the highest of each, ascending."""
    for low, high in zip(bounds, [*bounds[1:], 2**64 - 1]):
        if value <= high:
            return low + 1, high
    raise ValueError(value)


def at_peak_of(blocks, chosen):
    """Numbers of the blocks that are live when all that match have most."""
    return {block.index for block in blocks.sums(chosen)["peak_live"]}


def report(blocks, numbers, by, program):
    chosen = [blocks.blocks[number] for number in numbers]
    at_peak = at_peak_of(blocks, chosen)
    own, inclusive = collections.defaultdict(list), collections.defaultdict(list)
    few = len({block.event.size for block in chosen}) <= 32
    for block in chosen:
        row, rows = rows_of(blocks, block, by, program)
        if by == "size":
            row = (row, row) if few else in_class(row, SIZES)
        own[row].append(block)
        for name in rows:
            inclusive[name].append(block)
    return {row: (sums_of(blocks, own[row], at_peak), sums_of(blocks, inclusive[row], at_peak))
            for row in own.keys() | inclusive.keys()}


def histogram(blocks, numbers, of):
    classes, leaked = collections.defaultdict(lambda: [0, 0]), [0, 0]
    for number in numbers:
        block = blocks.blocks[number]
        if of == "lifetime" and block.freed is None:
            place = leaked
        elif of == "lifetime":
            lowest, highest = in_class(max(block.lifetime(), 0), TIMES)
            place = classes[0 if highest == 1 else lowest, highest]
        else:
            place = classes[in_class(block.event.size, SIZES)]
        place[0] += 1
        place[1] += block.event.size
    return dict(classes), leaked


# --- /sums ---

def key(name=None, file=None, thread=None, stack=None, least=None, largest=None):
    return name, file, thread, stack, least, largest


def of_code(made, block, by):
    if by == "module":
        return key(series.key_of(made, block, "module", 0)[0])
    frame = series.own_frame(made, block)
    file = frame[2] if frame else None
    if by == "function":
        return key(series.key_of(made, block, "function", 0)[0], file)
    if by == "site":
        return key(series.key_of(made, block, "site", 0)[0], file, stack=made.blocks.stack(block))
    if not frame:
        return key("[no stack]")
    name = file or f"[{os.path.basename(frame[3])}]"
    return key(f"{name}:{made.program.line_of[frame[:2]]}" if by == "line" and file else name, file)


def of_time(made, block):
    run = made.blocks.run
    ends = [run * (i + 1) // PARTS for i in range(PARTS)]
    part = next(i for i, end in enumerate(ends) if block.time <= end)
    return key(least=ends[part - 1] + 1 if part else 0, largest=ends[part])


def between_marks(blocks, block):
    """(names of the marks before it, their time, the last nanosecond before the next one)"""
    marks = [(fact["time"] - blocks.start, fact["name"]) for fact in blocks.recording.facts if fact["kind"] == "mark"]
    before = max([time for time, _ in marks if time <= block.time], default=None)
    later = min([time for time, _ in marks if time > block.time], default=blocks.run + 1)
    return {name for time, name in marks if time == before} or {"[start]"}, before or 0, later - 1


def of_mark(made, block):
    names, least, largest = between_marks(made.blocks, block)
    return key(names, least=least, largest=largest)


def of_pool(made, block):
    first, end = block.event.address, block.event.address + block.event.usable
    found = sorted((address, time, name) for address, time, name in made.blocks.births
                   if first <= address < end and block.time <= time and
                   (block.freed is None or time < block.freed))
    return key({name for address, time, name in found if (address, time) == found[0][:2]}
               if found else {"[no pool]"})


def of_free(made, block):
    free = None if block.freed is None else made.events[block.freed_order]
    if free is None or free.op == mallow_sums.IMPLICIT:
        return key("[no thread]")
    thread = made.reader.threads[free.thread]
    return key(thread.name, thread=thread.tid)


def key_of(made, block, by):
    if by in ("site", "function", "file", "line", "module"):
        return of_code(made, block, by)
    if by == "thread":
        return key(block.thread, thread=block.tid)
    if by == "size":
        least, largest = in_class(block.event.size, SIZES)
        return key(least=least, largest=largest)
    if by == "lifetime":
        if block.freed is None:
            return key()
        least, largest = in_class(max(block.lifetime(), 0), TIMES)
        return key(least=0 if largest == 1 else least, largest=largest)
    if by == "tag":
        return key(least=block.event.tag, largest=block.event.tag)
    if by == "entry":
        return key(ENTRIES[block.event.op])
    return {"time": of_time, "mark": of_mark, "pool": of_pool, "free_thread": of_free}[by](made, block)


def columns(made, blocks, at_peak):
    """Of one row."""
    sums = sums_of(made.blocks, blocks, at_peak)
    lives = [max(block.lifetime(), 0) for block in blocks if block.freed is not None]
    run, half = made.blocks.run, made.blocks.run // 2
    grown = sums["leaked_bytes"] - series.size(series.live_at(blocks, half))
    each = abs(grown) * 10**9 // (run - half) * (1 if grown > 0 else -1) if run else 0
    return {"bytes": sums["peak_bytes"], "blocks": sums["peak_blocks"], "leaked": sums["leaked_bytes"],
            "total": sums["total_bytes"], "calls": len(blocks), "temporary": sums["temporary"],
            "slack": sum(block.event.usable - block.event.size for block in blocks),
            "own_peak": sums["own_peak_bytes"], "freed": len(lives),
            "mean_ns": sum(lives) // len(lives) if lives else None,
            "longest_ns": max(lives) if lives else None,
            "first": min(block.time for block in blocks), "last": max(block.time for block in blocks),
            "growth": each}


def groups(made, blocks, keys):
    """{keys: blocks}"""
    found = collections.defaultdict(list)
    for block in blocks:
        found[tuple(fixed(key_of(made, block, by)) for by in keys)].append(block)
    return found


def fixed(one):
    return tuple(frozenset(part) if isinstance(part, set) else part for part in one)


def rows(made, blocks, keys):
    at_peak = at_peak_of(made.blocks, blocks)
    return {keys: columns(made, members, at_peak)
            for keys, members in groups(made, blocks, keys).items()}


def inclusive(made, blocks, by):
    """{name: columns}: of all blocks in whose stack it is; own_peak is known of one stack alone."""
    at_peak = at_peak_of(made.blocks, blocks)
    found = collections.defaultdict(list)
    for block in blocks:
        for name in rows_of(made.blocks, block, by, made.program)[1]:
            found[name].append(block)
    return {name: columns(made, members, at_peak) |
            ({"own_peak": None} if len({made.blocks.stack(block) for block in members}) > 1 else {})
            for name, members in found.items()}
