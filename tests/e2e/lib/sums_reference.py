"""/sums a second time: slow, obvious, on the blocks of filter_reference.py.

    rows(made, blocks, ["function", "size"])     {(key, key): columns}

made: a servers.Made; blocks: those that match, in the order of their allocation. A key is a tuple of
what the answer says of it: name, file, thread, stack, least, largest. Of marks at one time, and of
pools that handed out one address, it has all names.
"""
import collections
import os

import breakdown_reference
import mallow_sums
import series_reference as series
from mallow_reader import ENTRIES

PARTS = 64  # of the run, by time


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


def of_mark(made, block):
    marks = [(fact["time"] - made.blocks.start, fact["name"]) for fact in made.reader.facts
             if fact["kind"] == "mark"]
    before = max([time for time, _ in marks if time <= block.time], default=None)
    later = min([time for time, _ in marks if time > block.time], default=made.blocks.run + 1)
    names = {name for time, name in marks if time == before} or {"[start]"}
    return key(names, least=before or 0, largest=later - 1)


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
        least, largest = breakdown_reference.in_class(block.event.size, breakdown_reference.SIZES)
        return key(least=least, largest=largest)
    if by == "lifetime":
        if block.freed is None:
            return key()
        least, largest = breakdown_reference.in_class(max(block.lifetime(), 0), breakdown_reference.TIMES)
        return key(least=0 if largest == 1 else least, largest=largest)
    if by == "tag":
        return key(least=block.event.tag, largest=block.event.tag)
    if by == "entry":
        return key(ENTRIES[block.event.op])
    return {"time": of_time, "mark": of_mark, "pool": of_pool, "free_thread": of_free}[by](made, block)


def columns(made, blocks, at_peak):
    """Of one row. at_peak: numbers of the blocks that are live when all that match have most."""
    sums = made.blocks.sums(blocks)
    alive = [block for block in blocks if block.index in at_peak]
    lives = [max(block.lifetime(), 0) for block in blocks if block.freed is not None]
    run, half = made.blocks.run, made.blocks.run // 2
    grown = sums["leaked_bytes"] - series.size(series.live_at(blocks, half))
    each = abs(grown) * 10**9 // (run - half) * (1 if grown > 0 else -1) if run else 0
    return {"bytes": series.size(alive), "blocks": len(alive), "leaked": sums["leaked_bytes"],
            "total": sums["total_bytes"], "calls": len(blocks), "temporary": sums["temporary"],
            "slack": sum(block.event.usable - block.event.size for block in blocks),
            "own_peak": sums["peak_bytes"], "freed": len(lives),
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
    at_peak = {block.index for block in made.blocks.sums(blocks)["peak_live"]}
    return {keys: columns(made, members, at_peak)
            for keys, members in groups(made, blocks, keys).items()}


def inclusive(made, blocks, by):
    """{name: columns}: of all blocks in whose stack it is; own_peak is known of one stack alone."""
    at_peak = {block.index for block in made.blocks.sums(blocks)["peak_live"]}
    found = collections.defaultdict(list)
    for block in blocks:
        frames = made.blocks.frames(block)
        if by != "module":
            frames = breakdown_reference.own_code(frames)
        for name in {breakdown_reference.frame_name(frame, by, made.program)
                     for frame in frames} or {"[no stack]"}:
            found[name].append(block)
    return {name: columns(made, members, at_peak) |
            ({"own_peak": None} if len({made.blocks.stack(block) for block in members}) > 1 else {})
            for name, members in found.items()}
