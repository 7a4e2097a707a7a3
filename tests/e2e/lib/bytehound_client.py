"""A strict reader of bytehound's REST protocol as of its version 0.11, made from what is known of it
(docs/rest-api.md names where we differ): every field that is not optional is there and of its type. Other
fields may be there, too, as bytehound's own readers leave them out."""
import collections

U32, U64 = 2 ** 32, 2 ** 64
Field = collections.namedtuple("Field", "read optional")


def number(least, end):
    def read(value, where):
        assert type(value) is int and least <= value < end, (where, value)
        return value
    return read


def kind(wanted):
    def read(value, where):
        assert type(value) is wanted, (where, value)
        return value
    return read


def part(value, where):
    assert type(value) in (int, float) and 0 <= value <= 1, (where, value)
    return value


def array(read):
    def read_all(value, where):
        assert type(value) is list, (where, value)
        return [read(item, f"{where}[{i}]") for i, item in enumerate(value)]
    return read_all


def struct(called, /, **fields):
    made = collections.namedtuple(called, fields)

    def read(value, where):
        assert type(value) is dict, (where, value)
        read_fields = {}
        for key, field in fields.items():
            optional = isinstance(field, Field)
            inner = f"{where}.{key}"
            if optional and value.get(key) is None:
                read_fields[key] = None
                continue
            assert key in value, inner
            read_fields[key] = (field.read if optional else field)(value[key], inner)
        return made(**read_fields)
    return read


def maybe(read):
    return Field(read, True)


u32, u64, i32, i64 = number(0, U32), number(0, U64), number(-U32 // 2, U32 // 2), number(-U64 // 2, U64 // 2)
text, flag = kind(str), kind(bool)
time = struct("Time", secs=u64, fract_nsecs=number(0, 10 ** 9))
frame = struct("Frame", address=u64, address_s=text, count=u64, library=maybe(text), function=maybe(text),
               raw_function=maybe(text), source=maybe(text), line=maybe(u32), column=maybe(u32), is_inline=flag)
moment = {"timestamp": time, "timestamp_relative": time, "timestamp_relative_p": part}
deallocation = struct("Deallocation", timestamp=time, thread=u32, backtrace_id=maybe(u32),
                      backtrace=maybe(array(frame)))
allocation = struct("Allocation", id=u64, address=u64, address_s=text, **moment, thread=u32, size=u64,
                    backtrace_id=u32, deallocation=maybe(deallocation), chain_deallocation=maybe(deallocation),
                    backtrace=array(frame), is_mmaped=flag, is_jemalloc=flag, in_main_arena=flag,
                    extra_space=u32, chain_lifetime=maybe(time), position_in_chain=u32, chain_length=u32)
group_data = struct(
    "GroupData", size=u64, min_size=u64, max_size=u64, min_timestamp=time, min_timestamp_relative=time,
    min_timestamp_relative_p=part, max_timestamp=time, max_timestamp_relative=time, max_timestamp_relative_p=part,
    interval=time, leaked_count=u64, allocated_count=u64, graph_preview_url=maybe(text), graph_url=maybe(text),
    max_total_usage_first_seen_at=maybe(time), max_total_usage_first_seen_at_relative=maybe(time),
    max_total_usage_first_seen_at_relative_p=maybe(part))
group = struct("Group", all=group_data, only_matched=group_data, backtrace_id=u32, backtrace=array(frame))
mallopt = struct("Mallopt", timestamp=time, thread=u32, backtrace_id=u32, backtrace=array(frame), raw_param=i32,
                 param=maybe(text), value=i32, result=i32)
map_source = struct("MapSource", **moment, thread=u32, backtrace_id=u32, backtrace=array(frame))
mapping = struct("Map", id=u64, address=u64, address_s=text, **moment, size=u64, source=maybe(map_source),
                 deallocation=maybe(struct("MapEnd", timestamp=time, source=maybe(map_source))), is_readable=flag,
                 is_writable=flag, is_executable=flag, is_shared=flag, name=text, peak_rss=u64,
                 graph_preview_url=maybe(text), graph_url=maybe(text))
timeline = struct("Timeline", xs=array(u64), size_delta=array(i64), count_delta=array(i64),
                  allocated_size=array(u64), allocated_count=array(u64), allocations=array(u32),
                  deallocations=array(u32))


def tree(value, where):
    node = struct("Node", size=u64, count=u64, first=u64, last=u64, value=frame, children=array(tree))
    root = struct("Root", size=u64, count=u64, first=u64, last=u64, children=array(tree))
    return (node if "value" in value and value["value"] else root)(value, where)


ANSWERS = {
    "/list": array(struct(
        "Recording", id=text, executable=text, cmdline=text, architecture=text, final_allocated=u64,
        final_allocated_count=u64, runtime=time, unique_backtrace_count=u64, maximum_backtrace_depth=u32,
        timestamp=time)),
    "timeline": timeline,
    "timeline_leaked": timeline,
    "timeline_maps": struct("MapTimeline", xs=array(u64), address_space=array(i64), rss=array(i64),
                            anonymous=array(i64), dirty=array(i64), clean=array(i64), swap=array(i64)),
    "allocations": struct("Allocations", allocations=array(allocation), total_count=u64),
    "allocation_groups": struct("Groups", allocations=array(group), total_count=u64),
    "backtraces": struct("Backtraces", backtraces=array(array(frame)), total_count=u64),
    "raw_allocations": array(struct("Raw", backtrace=array(text))),
    "tree": tree,
    "backtrace/0": struct("Backtrace", frames=array(frame)),
    "regions": struct("Regions", main_heap_start=u64, main_heap_end=u64, main_heap_start_s=text,
                      main_heap_end_s=text, regions=array(array(u64))),
    "maps": struct("Maps", maps=array(mapping), total_count=u64),
    "mallopts": array(mallopt),
}


class Client:
    """server: of servers.py"""

    def __init__(self, server):
        self.server = server

    def list(self):
        return ANSWERS["/list"](self.server.json("/list"), "/list")

    def ask(self, path, **parameters):
        target = f"/data/last/{path}"
        return ANSWERS[path](self.server.json(target, **parameters), target)
