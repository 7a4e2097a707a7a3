"""What test_serve_golden.py asks `mallow serve` for: TARGETS = {file of tests/golden/serve: targets}.

A path of the server that none of them is of fails a test, and so does a parameter or a condition. The
recordings are those of golden_recording.py; "shop" is the last one.
"""
LAMP = bytes(range(0x20, 0x30)).hex()

TARGETS = {
    "list": ["/list"],
    "openapi": ["/openapi.json"],
    "allocations": [
        "/data/last/allocations",
        f"/data/{LAMP}/allocations",
        "/data/last/allocations?sort_by=size&order=dsc&count=3",
        "/data/last/allocations?sort_by=size&order=asc&skip=1&count=2",
        "/data/last/allocations?sort_by=address&skip=16",
        "/data/last/allocations?sort_by=timestamp&order=dsc&lifetime=only_temporary&count=1",
        "/data/last/allocations?from=50%&strip_template_args=true&count=1",
        "/data/last/allocations?function_regex=push_back&strip_template_args=true",
        "/data/last/allocations?count=0",
        "/data/last/allocations?skip=18446744073709551615",
    ],
    "raw_allocations": [
        "/data/last/raw_allocations",
        "/data/last/raw_allocations?sort_by=size&order=dsc&skip=1&count=2",
        "/data/last/raw_allocations?size_min=64G",
    ],
    "allocation_groups": [
        "/data/last/allocation_groups",
        "/data/last/allocation_groups?group_allocations_min=2&group_leaked_allocations_min=50%"
        "&sort_by=all.size&count=3",
        "/data/last/allocation_groups?sort_by=only_matched.allocated_count&order=dsc&skip=1&count=1",
        "/data/last/allocation_groups?sort_by=all.min_timestamp&order=asc&count=1",
        "/data/last/allocation_groups?lifetime=only_leaked&function_regex=grow|push_back"
        "&strip_template_args=true",
        "/data/last/allocation_groups?size_max=0&count=0",
    ],
    "allocation_ascii_tree": ["/data/last/allocation_ascii_tree?" + query for query in (
        "", "strip_template_args=true&function_regex=push_back",
        "lifetime=all&size_min=1000", "lifetime=only_leaked", "lifetime=only_temporary",
        "lifetime=only_not_deallocated_in_current_range&to=40%",
        "lifetime=only_deallocated_in_current_range&to=40%",
        "lifetime=only_whole_group_leaked", "lifetime=only_chain_leaked",
        "from=1700000002&to=1700000004", "from=20%&until=60%", "from=12.5%", "from=open&to=6s",
        "alive_at=peak", "alive_at=2s&alive_at_2=6s", "lifetime_min=250ms&lifetime_max=1s",
        "lifetime_max=50ms", "size_max=48", "slack_min=9&slack_max=40",
        "address_min=0x7f10c0000000&address_max=139711053070336", "mmaped=yes", "arena=non_main",
        "thread=worker", "thread=4100&tag=7", "marker=0&size_max=100", "pool=tickets",
        "pool=0x7f10c0000200", "source_regex=orders", "module_regex=libpaper",
        "negative_function_regex=main|worker", "negative_source_regex=serve",
        "allocated_by=order",
        "backtrace_depth_min=5&backtrace_depth_max=5", "backtraces=2",
        "group_allocations_min=2&group_allocations_max=2",
        "group_leaked_allocations_min=1&group_leaked_allocations_max=50%",
        "group_interval_min=2%&group_interval_max=5s", "chain_length_min=3&chain_length_max=3",
        "chain_lifetime_min=200ms&chain_lifetime_max=1s",
        "position_in_chain_min=1&position_in_chain_max=1", "first_size_min=64&first_size_max=64",
        "last_size_min=1000&last_size_max=1000")],
    "tree": ["/data/last/tree",
             "/data/last/tree?lifetime=only_leaked&from=open",
             "/data/last/tree?function_regex=orders&strip_template_args=true",
             "/data/last/tree?size_min=64G"],
    "backtrace": [f"/data/last/backtrace/{i}" for i in (0, 3, 5, 4294967295)] +
                 ["/data/last/backtrace/3?strip_template_args=true"],
    "flamegraph": ["/data/last/export/flamegraph?lifetime=only_leaked",
                   "/data/last/export/flamegraph/corner.svg?function_regex=orders",
                   "/data/last/export/flamegraph?size_min=64G"],
    "flamegraph.pl": ["/data/last/export/flamegraph.pl",
                      f"/data/{LAMP}/export/flamegraph.pl/lamp.txt?size_min=20"],
    "heaptrack": ["/data/last/export/heaptrack",
                  "/data/last/export/heaptrack/chains.txt?chain_length_min=2"],
    "replay": ["/data/last/export/replay",
               "/data/last/export/replay/temporary.bin?lifetime=only_temporary"],
    "pprof": ["/debug/pprof/heap", "/debug/pprof/allocs"],
    "mmaps": ["/data/last/mmaps", f"/data/{LAMP}/mmaps?strip_template_args=true"],
    "mallopts": ["/data/last/mallopts", f"/data/{LAMP}/mallopts?strip_template_args=false"],
    "timeline": ["/data/last/timeline", f"/data/{LAMP}/timeline"],
    "fragmentation_timeline": ["/data/last/fragmentation_timeline",
                               f"/data/{LAMP}/fragmentation_timeline"],
    "regions": ["/data/last/regions",
                "/data/last/regions?lifetime=only_not_deallocated_in_current_range&mmaped=no",
                f"/data/{LAMP}/regions"],
}
