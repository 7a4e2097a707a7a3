"""Sums by function, frame, file, line, module, thread and size, and histograms, a second time: slow and
obvious, on the blocks of filter_reference.py.

    breakdown(blocks, numbers, "function", program)    {what a row is of: (own sums, inclusive)}
    histogram(blocks, numbers, "size")                 ({(lowest, highest): [calls, bytes]}, leaked)
"""
import collections

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
    frames = blocks.frames(block)
    if by in ("function", "file", "line"):
        frames = own_code(frames)
    names = [frame_name(frame, by, program) for frame in frames]
    return (names[0], set(names)) if names else ("[no stack]", {"[no stack]"})


def sums_of(blocks, chosen, at_peak):
    """chosen: blocks; at_peak: those live at the peak of all that are seen."""
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


def breakdown(blocks, numbers, by, program):
    chosen = [blocks.blocks[number] for number in numbers]
    at_peak = {block.index for block in blocks.sums(chosen)["peak_live"]}
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
