"""A strict reader of bytehound's REST protocol as of its version 0.11, made from what is known of it
(docs/rest-api.md names where we differ): every field that is not optional is there and of its type. Other
fields may be there, too, as bytehound's own readers leave them out."""
import collections
import urllib.parse

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
region = struct(
    "Region", address=u64, address_s=text, **moment, size=u64, deallocation=maybe(struct(
        "RegionEnd", timestamp=time, sources=array(struct("RegionCut", address=u64, length=u64, source=map_source)))),
    is_readable=flag, is_writable=flag, is_executable=flag, is_shared=flag, file_offset=u64, inode=u64, major=u32,
    minor=u32, name=text)
usage = struct("Usage", **moment, address_space=u64, anonymous=u64, shared_clean=u64, shared_dirty=u64,
               private_clean=u64, private_dirty=u64, swap=u64, rss=u64)
mapping = struct("Map", id=u64, address=u64, address_s=text, **moment, size=u64, source=maybe(map_source),
                 deallocation=maybe(struct("MapEnd", timestamp=time, source=maybe(map_source))), is_readable=flag,
                 is_writable=flag, is_executable=flag, is_shared=flag, name=text, peak_rss=u64,
                 graph_preview_url=maybe(text), graph_url=maybe(text), regions=maybe(array(region)),
                 usage_history=maybe(array(usage)))
timeline = struct("Timeline", xs=array(u64), size_delta=array(i64), count_delta=array(i64),
                  allocated_size=array(u64), allocated_count=array(u64), allocations=array(u32),
                  deallocations=array(u32))


def by_name(read):
    def read_all(value, where):
        assert type(value) is dict, (where, value)
        return {name: read(item, f"{where}[{name}]") for name, item in value.items()}
    return read_all


def statics(value, where):
    """Sums that have sums of their parts, which are called by any names."""
    counted = {"count": u64, "size": u64}
    lines = struct("Lines", **counted, per_line=by_name(lambda one, at: struct("Line", **counted)(one, at)._asdict()))
    files = struct("Files", **counted, per_file=by_name(lambda one, at: lines(one, at)._asdict()))
    return files(value, where)._asdict()


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
    **dict.fromkeys([f"dynamic_{what}{name}" for what in ("constants", "statics") for name in ("", f"/{what}.json")], statics),
}


MOMENT, INTERVAL, BOOL = ["0%", "50%", "1700000000000", "99999999999999"], ["0", "1h2m3s4ms5us", "10MS"], ["true", "false"]
PART, NUMBER, REGEX, YES = ["0", "3", "50%"], ["0", "3", "4294967295"], ["main", "a|b", "^$"], ["yes", "no"]
SIZE, ONLY = ["0", "4096", "18446744073709551615"], ["only_true", "only_false"]


def pairs(names, values):
    return {f"{name}_{end}": values for name in names.split() for end in ("min", "max")}


# Everything that its requests can have, with values of each kind.
BACKTRACES = {**pairs("backtrace_depth", NUMBER), "function_regex": REGEX, "source_regex": REGEX,
              "negative_function_regex": REGEX, "negative_source_regex": REGEX}
COMMON = {"from": MOMENT, "to": MOMENT, "alive_at": MOMENT, "alive_at_2": MOMENT, **pairs("address size", SIZE),
          **pairs("lifetime", INTERVAL), **BACKTRACES, "backtraces": NUMBER, "deallocation_backtraces": NUMBER}
ALLOCATIONS = {
    **COMMON, "lifetime": ["all", "only_leaked", "only_chain_leaked", "only_temporary", "only_whole_group_leaked"],
    **pairs("first_size last_size", SIZE), "mmaped": YES, "jemalloc": YES, "arena": ["main", "non_main"],
    "marker": NUMBER, **pairs("group_interval", [*INTERVAL, "50%"]), **pairs("group_max_total_usage_first_seen", MOMENT),
    **pairs("group_leaked_allocations", PART), **pairs("group_allocations chain_length position_in_chain", NUMBER),
    **pairs("chain_lifetime", INTERVAL), "from_map": NUMBER}
# Of the other two values of lifetime its server ends.
MAPS = {**COMMON, "lifetime": ["all", "only_leaked", "only_temporary"], **pairs("peak_rss", SIZE),
        **dict.fromkeys("jemalloc bytehound readable writable executable".split(), ONLY)}
PAGE = {"skip": ["0", "2"], "count": ["0", "5"], "order": ["asc", "dsc"]}
FORMAT = {"strip_template_args": BOOL}
GROUP_KEYS = "min_timestamp max_timestamp interval allocated_count leaked_count size".split()
# What its web interface sends, too. A server that does not know a parameter passes over it.
WEB = {"page": ["2"], "page_size": ["20"], "show_full_backtraces": BOOL, "group_allocations": BOOL,
       "generate_graphs": BOOL, "allocated_after": MOMENT, "allocated_before": MOMENT, "custom_filter": [""]}
# Its links to exports have the parameters of the list that they are of.
LISTED = {**ALLOCATIONS, **WEB, "sort_by": ["size", "all.size"], "order": ["dsc"]}
REQUESTS = {
    "allocations": {**ALLOCATIONS, **PAGE, **FORMAT, **WEB, "sort_by": ["timestamp", "address", "size"]},
    "raw_allocations": {**ALLOCATIONS, **PAGE},
    "allocation_groups": {**ALLOCATIONS, **PAGE, **FORMAT, **WEB, "sort_by": [
        *(f"{of}.{key}" for of in ("only_matched", "all") for key in GROUP_KEYS), "all.max_total_usage_first_seen_at"]},
    "maps": {**MAPS, **PAGE, **FORMAT, **WEB, "sort_by": ["timestamp", "address", "size", "peak_rss"],
             "with_regions": BOOL, "with_usage_history": BOOL, "id": NUMBER},
    "backtraces": {**BACKTRACES, **FORMAT},
    "tree": {**ALLOCATIONS, **FORMAT},
    "regions": LISTED,
    **dict.fromkeys(["allocation_ascii_tree", "export/flamegraph/flame.svg", "export/heaptrack/heaptrack.dat"], LISTED),
    **dict.fromkeys([f"dynamic_{what}{name}" for what in ("constants", "statics") for name in (
        "", f"/{what}.json", "_ascii_tree", f"_ascii_tree/{what}.txt")], {}),
    **dict.fromkeys(["export/flamegraph", "export/flamegraph.pl", "export/heaptrack", "export/replay"], ALLOCATIONS),
}


class Client:
    """server: of servers.py"""

    def __init__(self, server):
        self.server = server

    def list(self):
        return ANSWERS["/list"](self.server.json("/list"), "/list")

    def ask(self, path, **parameters):
        target = f"/data/last/{path}"
        if path in ANSWERS:
            return ANSWERS[path](self.server.json(target, **parameters), target)
        status, _, body = self.server.request(f"{target}?{urllib.parse.urlencode(parameters)}")
        assert status == 200, (target, parameters, body)
        return body
