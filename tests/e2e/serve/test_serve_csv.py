"""/export/sums.csv, allocations.csv and maps.csv: the rows of the answers in JSON, with the same parameters."""
import csv
import io

import pytest

from bytehound_client import Client
from servers import program, serve, served  # noqa: F401

KEYS = ("site function file line module thread free_thread size lifetime time entry size,lifetime "
        "thread,free_thread site,entry").split()


def rows(server, target, **parameters):
    names, *lines = csv.reader(io.StringIO(server.text(target + "?" + "&".join(f"{k}={v}" for k, v in parameters.items())),
                                           newline=""))
    return [dict(zip(names, line, strict=True)) for line in lines]


def cell(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def table(answer, prefix=""):
    """An object of columns as rows: those of keys by the index that a row has."""
    length = len(answer["bytes"])
    made = [{} for _ in range(length)]
    for index, keys in zip(("key", "second"), answer.get("keys", ())):
        for name, values in keys.items():
            if name != "by" and values is not None:
                for row, place in zip(made, answer[index], strict=True):
                    row[f"{prefix}{keys['by']}_{name}"] = cell(None if place is None else values[place])
    for name, values in [*answer.items(), *((f"lifetimes_{name}", values) for name, values in answer.get("lifetimes", {}).items())]:
        if isinstance(values, list) and name not in ("keys", "key", "second", "spark_ns", "curve"):
            for row, value in zip(made, values, strict=True):
                row[prefix + name] = cell(value)
    return made


@pytest.mark.parametrize("by", KEYS)
def test_sums(served, by):  # noqa: F811
    for made in served.made:
        for parameters in ({"by": by}, {"by": by, "sort_by": "key", "count": 3, "skip": 1, "lifetime": "only_leaked"},
                           {"by": by, "identities": "true"}):
            wanted = table(served.json(f"/data/{made.id}/sums", **parameters))
            assert rows(served, f"/data/{made.id}/export/sums.csv", **parameters) == wanted


def test_differences_of_sums(served):  # noqa: F811
    first, second = served.made[:2]
    for parameters in ({"by": "function", "b.id": second.id}, {"by": "site", "b.to": "50%"}):
        answer = served.json(f"/data/{first.id}/sums", **parameters)
        parts = [table(answer[part], f"{part}_") for part in ("before", "after", "change")]
        wanted = [{**before, **after, **change} for before, after, change in zip(*parts, strict=True)]
        assert rows(served, f"/data/{first.id}/export/sums.csv", **parameters) == wanted and wanted


def nanoseconds(time):
    return 10 ** 9 * time["secs"] + time["fract_nsecs"]


def test_allocations(served):  # noqa: F811
    for made in served.made:
        for parameters in ({}, {"sort_by": "size", "count": 4, "skip": 1}, {"lifetime": "only_leaked"}):
            found = rows(served, f"/data/{made.id}/export/allocations.csv", **parameters)
            answer = served.json(f"/data/{made.id}/allocations", **parameters)["allocations"]
            for got, block in zip(found, answer, strict=True):
                freed, start = block["deallocation"], nanoseconds(block["timestamp"]) - nanoseconds(block["timestamp_relative"])
                assert got["freed_ns"] == cell(freed and nanoseconds(freed["timestamp"]) - start)
                assert got["free_thread"] == cell(freed and freed["thread"])
                assert got["allocated_ns"] == cell(nanoseconds(block["timestamp_relative"]))
                for name in ("number", "address", "size", "thread", "tag", "entry", "chain", "backtrace_id"):
                    assert got[name] == cell(block[name]), name
                assert got["slack"] == cell(block["extra_space"])
                names = [frame["function"] for frame in block["backtrace"][::-1] if frame["function"]]
                assert [name for name in got["stack"].split(";") if name in names] == names


def test_maps(serve, record, compile_sample):  # noqa: F811
    client = Client(serve(record([compile_sample("random_maps"), "1"]).path))
    for parameters in ({}, {"sort_by": "size", "count": 9, "skip": 2}, {"lifetime": "only_leaked", "executable": "only_false"}):
        found = rows(client.server, "/data/last/export/maps.csv", **parameters)
        answer = client.server.json("/data/last/maps", stacks="none", **parameters)["maps"]
        assert answer
        for got, one in zip(found, answer, strict=True):
            start = nanoseconds(one["timestamp"]) - nanoseconds(one["timestamp_relative"])
            end = one["deallocation"]
            assert [got[name] for name in ("id", "address", "size", "left", "thread", "backtrace_id", "name")] == [
                cell(value) for value in (one["id"], one["address"], one["size"], one["left"], one["source"]["thread"],
                                          one["source"]["backtrace_id"], one["name"])]
            assert got["made_ns"] == cell(nanoseconds(one["timestamp"]) - start)
            assert got["gone_ns"] == cell(end and nanoseconds(end["timestamp"]) - start)
            assert [got[name] for name in ("readable", "writable", "executable", "shared")] == [
                cell(int(one[f"is_{name}"])) for name in ("readable", "writable", "executable", "shared")]


def test_what_has_no_columns_is_refused(served):  # noqa: F811
    for path, name in (("sums.csv", "spark=3"), ("sums.csv", "shapes=true"), ("maps.csv", "with_regions=true")):
        assert "unknown parameter" in served.refused(f"/data/last/export/{path}?{name}")
