#!/usr/bin/env python3
"""Tables of a fleet that does not exist, as `mallow export --to parquet` writes them of one that does.

    pip install duckdb==1.5.6
    ./generate.py --hosts 10000 --minutes 60 --sites 500 FOLDER       300 million rows, 10 minutes

Each host runs one process of one of ten services, half of them version 1.1, half 1.2. What is wrong with them is known:

    service-3   1.2: function_7 grows by 64 KB a minute, on every host
    service-5   both: function_11 asks for a hundred times what it keeps
    service-8   1.2: function_2 keeps three times what it kept
    host-00042  its recordings have lost events
"""
import argparse
import pathlib

import duckdb

START = 1_700_000_040_000_000_000       # a full minute, in nanoseconds since 1970
RUNS = """
CREATE TABLE runs AS
SELECT md5('run' || h) AS run_id, '' AS recording, printf('host-%05d', h) AS host, 'service-' || (h % 10) AS service,
       CASE WHEN h // 10 % 2 = 0 THEN '1.1' ELSE '1.2' END AS version, md5(service || version) AS build_id, 1::BIGINT AS pid,
       $start::BIGINT AS started, $minutes::BIGINT * 60000000000 AS duration_ns, 524288::BIGINT AS sample_bytes,
       CAST(h <> 42 AS BIGINT) AS complete,
       CAST(CASE WHEN h = 42 THEN 1234 ELSE 0 END AS BIGINT) AS lost, 'peak leaked total calls' AS known,
       '{"region":"' || ['east', 'north', 'south', 'west'][1 + h // 20 % 4] || '"}' AS labels
FROM range($hosts) t(h)"""
STACKS = """
CREATE TABLE stacks AS
SELECT left(md5(service || version || i), 16) AS site_id, left(md5(service || i), 16) AS shape_id, 0::BIGINT AS weak_id,
       'function_' || i AS own_function, service || '.cc' AS own_file, CAST(10 * i + 1 AS BIGINT) AS own_line, service, version, i
FROM (SELECT DISTINCT service, version FROM runs), range($sites) t(i)"""
# What a site has live in the minute m, and asks for in each.
SITES = """
SELECT run_id, runs.service AS service, site_id, $start::BIGINT + m * 60000000000 AS ts,
       CAST(hash(i) % 1000 * 1024 * (CASE WHEN runs.service = 'service-8' AND version = '1.2' AND i = 2 THEN 3 ELSE 1 END)
            + hash(run_id || i || m) % 1024
            + (CASE WHEN runs.service = 'service-3' AND version = '1.2' AND i = 7 THEN 65536 * m ELSE 0 END) AS BIGINT) AS live_bytes,
       live_bytes // 1024 AS live_blocks,
       CAST((m + 1) * (hash(i) % 1000 * 512 + (CASE WHEN runs.service = 'service-5' AND i = 11 THEN 100000000 ELSE 0 END)) AS BIGINT)
            AS alloc_bytes,
       alloc_bytes // 512 AS alloc_blocks, live_bytes + 1024 AS peak_bytes
FROM runs JOIN stacks USING (service, version), range($minutes) t(m) WHERE runs.service = $service
ORDER BY site_id, run_id, ts"""
SERIES = """
SELECT run_id, service, ts, CAST(sum(live_bytes) * 2 + 50000000 AS BIGINT) AS rss, CAST(sum(live_bytes) AS BIGINT) AS live
FROM read_parquet($files) GROUP BY ALL ORDER BY run_id, ts"""


def write(query, path, parameters, database):
    """Sorted by site: a row takes a byte or two. Files of some million rows are read in parallel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database.execute(f"COPY ({query}) TO '{path}' (FORMAT PARQUET, COMPRESSION ZSTD)", parameters)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, standard in (("hosts", 1000), ("minutes", 60), ("sites", 100)):
        parser.add_argument(f"--{name}", type=int, default=standard)
    given = parser.parse_args()
    database = duckdb.connect()
    database.execute(RUNS, {"start": START, "minutes": given.minutes, "hosts": given.hosts})
    database.execute(STACKS, {"sites": given.sites})
    write("SELECT * FROM runs", given.folder / "runs/all.parquet", {}, database)
    write("SELECT * EXCLUDE (service, version, i) FROM stacks", given.folder / "stacks/all.parquet", {}, database)
    for service, in database.execute("SELECT DISTINCT service FROM runs ORDER BY 1").fetchall():
        folder = f"date=2023-11-14/service={service}"
        sites = given.folder / "sites" / folder / "minutes.parquet"
        write(SITES, sites, {"start": START, "minutes": given.minutes, "service": service}, database)
        write(SERIES, given.folder / "series" / folder / "minutes.parquet", {"files": [str(sites)]}, database)


if __name__ == "__main__":
    main()
