-- The fleet's tables, an hourly rollup of them, and ten questions, for DuckDB 1.5 (not 2.0.0 or 2.0.1: these lose filters).
-- In the folder with the tables:   duckdb fleet.db < duckdb.sql
-- `service` is a column of each file, too, so that nothing depends on the names of folders.

CREATE OR REPLACE VIEW runs AS FROM read_parquet('runs/*.parquet');
CREATE OR REPLACE VIEW stacks AS FROM read_parquet('stacks/*.parquet');
CREATE OR REPLACE VIEW sites AS FROM read_parquet('sites/*/*/*.parquet', hive_partitioning = false);
CREATE OR REPLACE VIEW series AS FROM read_parquet('series/*/*/*.parquet', hive_partitioning = false);

-- What is kept for a month: a row for each site of each run and hour. Raw rows go after a day or three.
CREATE OR REPLACE TABLE hourly AS
SELECT service, site_id, run_id, ts // 3600000000000 AS hour, arg_min(live_bytes, ts) AS first_bytes,
       arg_max(live_bytes, ts) AS last_bytes, max(live_bytes) AS max_bytes, CAST(avg(live_bytes) AS BIGINT) AS avg_bytes,
       CAST(coalesce(regr_slope(live_bytes, ts / 60e9), 0) AS BIGINT) AS grows_a_minute,
       max(alloc_bytes) - min(alloc_bytes) AS alloc_bytes, max(alloc_blocks) - min(alloc_blocks) AS alloc_blocks
FROM sites GROUP BY ALL;

-- 1. Which builds of a service grow, and by how much an hour?
SELECT version, CAST(sum(last_bytes - first_bytes) / count(DISTINCT run_id) AS BIGINT) AS grown_a_host
FROM hourly JOIN runs USING (run_id) WHERE hourly.service = 'service-3' GROUP BY version ORDER BY version;

-- 2. What is the 99th percentile of the hosts' peaks, by version?
SELECT version, CAST(quantile_cont(peak, 0.99) AS BIGINT) AS p99 FROM (
  SELECT version, run_id, max(live) AS peak FROM series JOIN runs USING (run_id) GROUP BY ALL) GROUP BY version ORDER BY version;

-- 3. Which function regressed from 1.1 to 1.2? shape_id is equal in both builds.
SELECT own_function, CAST(avg(last_bytes) FILTER (version = '1.1') AS BIGINT) AS before,
       CAST(avg(last_bytes) FILTER (version = '1.2') AS BIGINT) AS after
FROM hourly JOIN runs USING (run_id) JOIN stacks USING (site_id) WHERE hourly.service = 'service-8'
GROUP BY shape_id, own_function ORDER BY after - before DESC LIMIT 1;

-- 4. Which functions grow on more than half of the hosts of their build?
SELECT service, version, own_function, hosts FROM (
  SELECT hourly.service, version, own_function, count(*) FILTER (grows_a_minute > 1024) AS hosts, count(*) AS all_hosts
  FROM hourly JOIN runs USING (run_id) JOIN stacks USING (site_id) GROUP BY ALL)
WHERE hosts * 2 > all_hosts ORDER BY ALL;

-- 5. Who has most of the whole fleet's memory now?
SELECT hourly.service, own_function, CAST(sum(last_bytes) AS BIGINT) AS bytes
FROM hourly JOIN stacks USING (site_id) WHERE hour = (SELECT max(hour) FROM hourly)
GROUP BY hourly.service, shape_id, own_function ORDER BY bytes DESC, hourly.service, own_function LIMIT 3;

-- 6. Who asks for most, and gives it back?
SELECT hourly.service, own_function, CAST(sum(alloc_bytes) AS BIGINT) AS churned
FROM hourly JOIN stacks USING (site_id) GROUP BY hourly.service, shape_id, own_function ORDER BY churned DESC, hourly.service, own_function LIMIT 1;

-- 7. How much is it by region and version?
SELECT json_extract_string(labels, '$.region') AS region, version, CAST(sum(avg_bytes) AS BIGINT) AS bytes
FROM hourly JOIN runs USING (run_id) GROUP BY ALL ORDER BY ALL;

-- 8. What did one host have in one minute?
SELECT own_function, live_bytes FROM sites JOIN stacks USING (site_id)
WHERE sites.service = 'service-3' AND run_id = (SELECT run_id FROM runs WHERE host = 'host-00013')
  AND ts = (SELECT max(ts) FROM series) ORDER BY live_bytes DESC, own_function LIMIT 3;

-- 9. Which numbers are not whole?
SELECT host, service, lost FROM runs WHERE complete = 0 OR lost > 0 ORDER BY ALL;

-- 10. Which service keeps most that no allocation explains?
SELECT service, CAST(sum(rss - live) AS BIGINT) AS unexplained FROM series
WHERE ts = (SELECT max(ts) FROM series) GROUP BY service ORDER BY unexplained DESC, service LIMIT 1;
