"""/series a second time: slow, obvious, on the blocks of filter_reference.py.

    answer(made, blocks, by="thread", top=3, start=0, end=run, points=7, late=run // 10)

made: a servers.Made; blocks: those that match, in the order of their allocation.
"""
import os

FATES = ["never_freed", "freed_late", "freed_soon"]
PLUMBING = {"_mi_fill"}  # of the functions of queries.py


def live_at(blocks, moment):
    return [b for b in blocks if b.time <= moment and (b.freed is None or b.freed > moment)]


def live_before(blocks, moment):
    return [b for b in blocks if b.time < moment and (b.freed is None or b.freed >= moment)]


def live_after(blocks, last):
    """When that block had just been allocated, in the order of events."""
    return [b for b in blocks if b.order <= last.order and
            (b.freed_order is None or b.freed_order > last.order)]


def size(blocks):
    return sum(b.event.size for b in blocks)


def own_frame(made, block):
    """The innermost own frame, else the innermost one with a name, else the innermost one."""
    frames = made.blocks.frames(block)
    own = [frame for frame in frames if frame[1] and frame[1] not in PLUMBING]
    return next(iter([*own, *(frame for frame in frames if frame[1]), *frames]), None)


def key_of(made, block, by, late):
    """What a block's curve is called, and what else tells it from others."""
    if by == "fate":
        if block.freed is None:
            return "never_freed", None
        return ("freed_late" if block.lifetime() >= late else "freed_soon"), None
    if by == "thread":
        return block.thread, block.event.thread
    if by == "module":  # no function of the sources allocates for others
        frames = made.blocks.frames(block)
        return (frames[0][3] if frames else "[no stack]"), None
    frame = own_frame(made, block)
    if not frame:
        name = "[no stack]"
    elif frame[1]:
        name = frame[1]
    else:
        name = f"[{os.path.basename(frame[3])}]"
    return name, made.blocks.stack(block) if by == "site" else None


def points(blocks, bounds):
    """The columns of a curve. bounds: (begin, end) of each step, both within it."""
    columns = {"live_last": [], "live_blocks": [], "allocated_bytes": [], "allocated_blocks": [],
               "freed_bytes": [], "freed_blocks": []}
    for begin, end in bounds:
        live = live_at(blocks, end)
        born = [b for b in blocks if begin <= b.time <= end]
        died = [b for b in blocks if b.freed is not None and begin <= b.freed <= end]
        for name, value in zip(columns, [size(live), len(live), size(born), len(born), size(died),
                                         len(died)]):
            columns[name].append(value)
    return columns


def steps(start, end, count):
    count = max(1, min(count, end - start))
    ends = [start + (end - start) * (i + 1) // count for i in range(count)]
    return list(zip([start, *(before + 1 for before in ends)], ends))


def most(blocks, bounds):
    """Of each step."""
    result = []
    before = size(live_before(blocks, bounds[0][0]))
    for begin, end in bounds:
        after = size(live_at(blocks, end))
        within = [size(live_after(blocks, b)) for b in blocks if begin <= b.time <= end]
        result.append(max([before, after, *within]))
        before = after
    return result


def peak(made, blocks, start, end):
    """Its time, bytes and blocks, and the block that reached it."""
    found, live = None, live_before(blocks, start)
    for block in blocks:
        now = live_after(blocks, block) if start <= block.time <= end else []
        if size(now) > size(live):
            found, live = block, now
    return found, live


def area(block, start, end):
    last = end if block.freed is None else min(block.freed, end)
    return max(0, last - max(block.time, start)) * block.event.size


def curves(made, blocks, by, top, start, end, late):
    """[(name, others, blocks)]: the largest are the first, equal ones in any order."""
    parts = {}
    for block in blocks:
        parts.setdefault(key_of(made, block, by, late), []).append(block)
    if by == "fate":
        return [(name, parts.get((name, None), [])) for name in FATES]
    ranked = sorted(parts.items(), key=lambda part: -sum(area(b, start, end) for b in part[1]))
    return [(name, members) for (name, _), members in ranked]


def memory(made, bounds):
    chosen = []
    for begin, end in bounds:
        samples = [fact for fact in made.reader.facts if fact["kind"] == "memory" and
                   begin <= fact["time"] - made.reader.header.ticks <= end]
        chosen += sorted(samples, key=lambda fact: -fact["resident"])[:1]
    return chosen
