-- What the benchmark's sqlite3 does, in memory: 200,000 rows, an index, groups.
create table item(id integer primary key, name text, price real, kind integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into item select i, 'item ' || (i * 7919 % 200000), i * 0.25, i % 97 from n;
create index item_name on item(name);
select kind, count(*), sum(price), max(name) from item group by kind order by kind limit 5;
select count(*), sum(price) from item where name like '%77%';
select substr(name, 1, 9) as part, count(*), length(group_concat(name)) from item
	group by part order by count(*) desc, part limit 5;
update item set name = upper(name) where kind < 50;
select min(name), max(name), count(distinct substr(name, 6)) from item;
