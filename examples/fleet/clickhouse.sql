-- The same for ClickHouse 26: what is sorted together is read together, a day is dropped as a whole.
-- In the folder with the tables:   clickhouse local --path fleet --multiquery < clickhouse.sql

-- Columns of mallow's files are never null. Those of generate.py are not either, but their schema does not say so.
SET schema_inference_make_columns_nullable = 0;
CREATE TABLE runs ENGINE = MergeTree ORDER BY run_id AS SELECT * FROM file('runs/*.parquet');
CREATE TABLE stacks ENGINE = MergeTree ORDER BY site_id AS SELECT * FROM file('stacks/*.parquet');
CREATE TABLE sites (run_id String, service LowCardinality(String), site_id String, ts Int64, live_bytes Int64,
                    live_blocks Int64, alloc_bytes Int64, alloc_blocks Int64, peak_bytes Int64)
ENGINE = MergeTree PARTITION BY intDiv(ts, 86400000000000) ORDER BY (service, site_id, run_id, ts);
INSERT INTO sites SELECT run_id, service, site_id, ts, live_bytes, live_blocks, alloc_bytes, alloc_blocks, peak_bytes
FROM file('sites/*/*/*.parquet');
CREATE TABLE series ENGINE = MergeTree ORDER BY (service, run_id, ts) AS
SELECT run_id, service, ts, rss, live FROM file('series/*/*/*.parquet');
CREATE TABLE hourly ENGINE = MergeTree ORDER BY (service, site_id, run_id, hour) AS
SELECT service, site_id, run_id, intDiv(ts, 3600000000000) AS hour, argMin(live_bytes, ts) AS first_bytes,
       argMax(live_bytes, ts) AS last_bytes, max(live_bytes) AS max_bytes, toInt64(round(avg(live_bytes))) AS avg_bytes,
       toInt64(round(if(count() > 1, tupleElement(simpleLinearRegression(intDiv(ts, 60000000000) - 28333334, live_bytes), 1), 0)))
           AS grows_a_minute,
       max(sites.alloc_bytes) - min(sites.alloc_bytes) AS alloc_bytes, max(sites.alloc_blocks) - min(sites.alloc_blocks) AS alloc_blocks
FROM sites GROUP BY service, site_id, run_id, hour;

-- 1. Which builds of a service grow, and by how much an hour?
SELECT version, toInt64(round(sum(last_bytes - first_bytes) / uniqExact(run_id))) AS grown_a_host
FROM hourly JOIN runs USING (run_id) WHERE hourly.service = 'service-3' GROUP BY version ORDER BY version;

-- 2. What is the 99th percentile of the hosts' peaks, by version?
SELECT version, toInt64(round(quantileExactInclusive(0.99)(peak))) AS p99 FROM (
  SELECT version, run_id, max(live) AS peak FROM series JOIN runs USING (run_id) GROUP BY version, run_id) GROUP BY version ORDER BY version;

-- 3. Which function regressed from 1.1 to 1.2? shape_id is equal in both builds.
SELECT own_function, toInt64(round(avgIf(last_bytes, version = '1.1'))) AS before, toInt64(round(avgIf(last_bytes, version = '1.2'))) AS after
FROM hourly JOIN runs USING (run_id) JOIN stacks USING (site_id) WHERE hourly.service = 'service-8'
GROUP BY shape_id, own_function ORDER BY after - before DESC LIMIT 1;

-- 4. Which functions grow on more than half of the hosts of their build?
SELECT service, version, own_function, hosts FROM (
  SELECT hourly.service AS service, version, own_function, countIf(grows_a_minute > 1024) AS hosts, count() AS all_hosts
  FROM hourly JOIN runs USING (run_id) JOIN stacks USING (site_id) GROUP BY hourly.service, version, own_function)
WHERE hosts * 2 > all_hosts ORDER BY service, version, own_function;

-- 5. Who has most of the whole fleet's memory now?
SELECT hourly.service AS of, own_function, sum(last_bytes) AS bytes
FROM hourly JOIN stacks USING (site_id) WHERE hour = (SELECT max(hour) FROM hourly)
GROUP BY of, shape_id, own_function ORDER BY bytes DESC, of, own_function LIMIT 3;

-- 6. Who asks for most, and gives it back?
SELECT hourly.service AS of, own_function, sum(alloc_bytes) AS churned
FROM hourly JOIN stacks USING (site_id) GROUP BY of, shape_id, own_function ORDER BY churned DESC, of, own_function LIMIT 1;

-- 7. How much is it by region and version?
SELECT JSONExtractString(labels, 'region') AS region, version, sum(avg_bytes) AS bytes
FROM hourly JOIN runs USING (run_id) GROUP BY region, version ORDER BY region, version;

-- 8. What did one host have in one minute?
SELECT own_function, live_bytes FROM sites JOIN stacks USING (site_id)
WHERE sites.service = 'service-3' AND run_id = (SELECT run_id FROM runs WHERE host = 'host-00013')
  AND ts = (SELECT max(ts) FROM series) ORDER BY live_bytes DESC, own_function LIMIT 3;

-- 9. Which numbers are not whole?
SELECT host, service, lost FROM runs WHERE complete = 0 OR lost > 0 ORDER BY host;

-- 10. Which service keeps most that no allocation explains?
SELECT service, sum(rss - live) AS unexplained FROM series
WHERE ts = (SELECT max(ts) FROM series) GROUP BY service ORDER BY unexplained DESC, service LIMIT 1;
