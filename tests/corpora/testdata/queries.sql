select ns.t.id, ns.r.w from serac.ns.t, ns.r where t.id=ns.r.id
select a.id, ns.r.name from ns.t a join ns.r on a.id = ns.r.id where ns.r.w > 3
select * from t natural join r
select t from t where id < 4
select r.name, t.id from t join r using (id) where r.k > 2
from t select max(columns(*)) 
with t as (select * from t) select count(*) from t
with t as (select * from t where id < 3), r as (select * from t) select * from r
select * from t where id in (select unnest([1,2,3]))
select sum(distinct g), count(distinct k), avg(distinct v) from t
select * from range(3) with ordinality
select id, s from t order by all limit 4
select count(*) from t where s like 's\_%' escape '\' or s like 's1%' or s like '%1' or s like '%1%' or s not like 's_'
select * from (values (1),(2)) v(x) , lateral (select x+1 y)
select * from r left join lateral (select * from t where t.k=r.k order by id limit 1) x on x.g=3
select exists(from r), (select count(*) from r)
select id from t where (select true)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.k = t.k OR r.w = t.g)
select id, EXISTS (SELECT 1 FROM r WHERE r.k > t.k and r.w < t.g) from t
select id, t.k in (SELECT w FROM r WHERE r.k > t.k) from t
select id, t.k > any (SELECT w FROM r WHERE r.k = t.g), t.k <> all (SELECT w FROM r WHERE r.k = t.g) from t
select (select max(r.w) from r where r.k=t.k and exists(select 1 from t t2 where t2.g=r.w and t2.k=t.k)) from t
select id, (select r.w from r where r.k < t.id limit 1) is null from t where id < 3
select id, (select w from r where r.id > t.id and r.id < t.id + 2) from t
select id from t where k not in (select w from r where r.k is not distinct from t.k)
select list_aggregate(l,'quantile_cont',0.5) from t where len(l)>0
select json '{"a":1}' ->> 'a', json '{"a":[1,2]}' -> '$.a[0]'
select l[1:2:1], l[-1] from t
select k, count(*) from t group by grouping sets ((),(),(k))
select count(*) from t group by ()
select 1 union all select 2.5 union all select null
select * exclude(id) replace (g+1 as g) from t
select 'a'::enum('a','b') as e union all select 'b'
select map {'a': [1,2]}, {'x': map{1:'b'}}, [{'a':1},null], [row(1,'x')], row(1,row(2,'y')), null::struct(a int), {'a': null}
select [1,2]::integer[2], array_value(1.5,2), array_distance([1,2]::float[2],[3,4]::float[2])
select interval '1 year', interval '-3 days', interval '0', '1 day'::interval * 3
select 123::bignum
select '10:00:00.123456789'::time_ns
select timestamp_ms '2024-01-01 00:00:00.123', '1969-12-31 23:59:59.999999'::timestamp, '1500-01-01'::date, '0001-01-01'::date, '-infinity'::date, 'infinity'::timestamptz
select -9223372036854775808, (-128)::tinyint, 255::utinyint, 65535::usmallint, 4294967295::uinteger
select 5e-324::double, 3.4028235e38::float, 1.7976931348623157e308, 0.1+0.2, 1e23, -0.0::double
select date '5881580-07-10', date '5877642-06-25 (BC)'
select id from t limit 0
select id from t limit null
select id from t order by id offset 495
select id, count(*) over (order by id rows between current row and unbounded following), lead(v, -1) over (order by id), first_value(v ignore nulls) over (order by id desc), nth_value(k, 2 ignore nulls) over (order by id), sum(v) over (partition by null order by id) from t
select id, sum(id) over (order by ts desc range between interval 1 hour preceding and current row), sum(id) over (order by v desc nulls first range between 2 preceding and 1 following) from t
select id, arg_max(s, id) over (order by id rows 3 preceding), quantile_cont(v, 0.5) over (order by id rows 5 preceding), mode(b) over (partition by b), list(id) over (order by id rows 2 preceding), sum(de) over (order by id rows between unbounded preceding and 1 preceding) from t
select id, lag(id, g) over (order by id), ntile(g+1) over (order by id) from t where g is not null
select row_number(order by v) over (order by id), rank(order by k desc) over () from t
select fill(k) over (order by id) from t
select max_by(s, id, 3), min_by(s, id), string_agg(distinct s, ',' order by s), listagg(s, ';' order by id), group_concat(k order by id), approx_top_k(g,3), count_if(b), mode() within group (order by g), percentile_disc(0.5) within group (order by v), quantile(v, [0.5, 0.1] ), quantile_disc(s, 0.5), any_value(g order by id), bit_and(g), favg(v), fsum(v), geomean(id), sem(v), var_pop(v), skewness(v), covar_samp(v,id), bit_or(g), bool_or(b), median(ts), median(d), quantile_cont(ts, 0.3), mad(d) from t
select g, max(id) filter (b and k > 3), count(distinct k) filter (where not b), first(id order by id desc), last(s order by id) from t group by g
select struct_update({'a':1,'b':2}, b := 3), struct_concat({'a':1},{'b':2}), struct_keys({'a':1}), struct_values({'a':1})
select unnest({'a': {'b': id}, 'c': l}, recursive := true) from t
select generate_subscripts(l, 1), unnest(l) from t
select t.id, u.x, u.o from t, unnest(l) with ordinality u(x, o)
select * from query('select 1 as a')
select * from (summarize r)
select * from (describe r)
select id from t where id = (select max(id) from t)
select 'x', 1, null, true from t limit 2
select (1,2) = (1,2), row(1, null) is not distinct from row(1,null), (1,2) < (1,3)
select id from t where (k,g) not in (select w,k from r)
select * from t a full join r b on a.id = b.id and a.k = b.k
select count(*) from t a join r b on a.k = b.k and a.g + b.w > 7 left join r c on c.id = a.id and a.v > 5
select a.id from r a where not exists (select 1 from t b where b.k = a.k and b.g = a.w)
select a.id from r a where not exists (select 1 from t b where b.k = a.k and b.g > a.w)
select 7/2, 7//2, -7//2, 7%3, 7.5/2, 10::decimal(5,1)/3, 2^10, factorial(5), @ -3
select k/g, k//nullif(g,0), k%nullif(g,0) from t
select id, sum(sum(v)) over (order by id) from t group by id
select g, sum(id) s, rank() over (order by sum(id) desc) from t group by g having count(*) > 3 qualify rank() over (order by sum(id) desc) <= 3
select * from (select id, g from t order by g, id limit 5) union all (select id, k from r order by id desc limit 2)
select t.id, x.* from t cross join lateral (select sum(w) s, count(*) c from r where r.k = t.k) x where x.s > 3
with recursive f(n, a, b) as (select 1, 0::hugeint, 1::hugeint union all select n+1, b, a+b from f where n < 50) select * from f
with recursive p(id, d) as (select id, 0 from r where k is null union all select r.id, d+1 from r join p on r.k = p.id where d < 5) select id, max(d) from p group by id
with a as (select 1 x), b as (select x+1 y from a), c as (select * from a, b) select * from c
with a as not materialized (select g, random() r from t) select count(*) from a x join a y using (g)
from (from t select g, k) pivot (sum(k) for g in (1,2,3))
select strftime(d, '%Y-%m'), dayname(d), monthname(d), last_day(d), time_bucket(interval 1 week, d), epoch_ms(ts), to_timestamp(id), make_timestamp(2024,1,2,3,4,5.5), century(d), isodow(d) from t
select regexp_matches(s, '^s[12]$'), regexp_extract_all(s, '\d'), regexp_split_to_array(s, '1'), regexp_extract(s, '(s)(\d)', ['a','b']), s similar to 's\d+', regexp_replace(s, '(\d)', '<\1>') from t
select cast(l as varchar), cast(ts as date), cast(d as timestamp), cast(h as double), cast(b as int), try_cast(s as date), cast('[1,2]' as int[]), cast(iv as varchar), cast(u as varchar) from t
select case when k > 3 then 'a' when k is null then null else s end, case b when true then 1 end, coalesce(s, 'none'), nullif(g, 3), k is distinct from g, k is not distinct from g, b is true, b is not false, b is unknown from t
select id from t where b and not (k > 3 or g < 2) and (s is null or s > 's1') and id between 5 and 400 and k not between 3 and 4 and s in ('s1','s2','s3') 
select id from t where d between date '2024-01-05' and date '2024-01-10' and de > 1.5 and de = 3 and v < 50 and id % 2 = 0
select list_filter(l, lambda x: x > g), list_transform(l, lambda x, i: [x, i, id]), list_reduce(list_filter(l, lambda x: x is not null), lambda a, b: a + b, 0), [y + id for y in l if y > 1], list_transform([[1,2],[3]], lambda x: list_transform(x, lambda y: y + len(x) + g)) from t
select apply(l, lambda x: x::varchar || s), list_sort(l, 'desc', 'nulls first'), list_any_value(l), list_slice(l, 1, 2), list_grade_up(l), list_cosine_similarity([1.0,2.0],[2.0,3.0]), list_unique(l), list_aggregate(l, 'string_agg', '|'), list_histogram(l) from t
select map_keys(m), m['a'], map_contains(m, 'b'), cardinality(m), map_concat(m, map {'z': 1}), element_at(m, 'a') from (select map {'a': id, 'b': g} m from t)
select json_extract(j, '$.a'), json_group_array(g), json_object('x', 1) from (select json_object('a', id) j, g from t where id < 3) group by all
select to_json(t), row_to_json({'a':1}), json_structure('{"a":1}'), json_transform('{"a":"1"}', '{"a":"INTEGER"}'), from_json('{"a":1}', '{"a":"INTEGER"}') from t where id = 1
select hash(id), md5(s), sha256(s), base64(bl), from_hex('AB'), bit_count(k) from t where id < 3
select greatest(k, g, id), least(d, date '2024-01-03') from t where id < 5
select count(*) from (select distinct on (g, b) * from t order by g, b, id)
select id from t where id in (1, 2, null) or k in (g, 3)
select id not in (1, null), k not in (g, 3) from t
select sum(id) over (), avg(k) over (partition by g), count(*) over (partition by g, b order by id) from t order by id limit 7
select coalesce(sum(k), 0) from t where false
select g, count(*) from t where 1=0 group by g
select max(ts) - min(ts), max(tm), min(tz), max(bl), max(u), sum(ub), avg(h), max(iv), count(l) from t
select * from t where tz >= timestamptz '2024-01-02 00:00:00+00' and tz::date = date '2024-01-03'
select id, id::decimal(10,2) * 1.1, (de + 1) * (de - 1) / 2, sum(de * 2) over (), de * k, de - k, de * id::bigint, de + h, 1 - de, -de * 2, round(de * 3.33333, 2), de * 1.0000000001 from t
select sum(de * k * (1 + de)), avg(de * de), sum(de) * 2, max(de) + 1, sum(de) / sum(k) from t
select a.x, b.y from (select 1 x) a, (select 2 y) b where a.x < b.y
select * from t positional join (select id rid from r) z
select t.id, r.id from t asof join r on t.ts >= r.ts
select t.id, r.id from t asof left join r using (k, ts)
select * from generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval 6 hours) g(x)
select * from repeat('a', 3), range(date '2024-01-01', date '2024-01-04', interval 1 day)
select * from json_each('{"a":1,"b":[2]}'), json_tree('[1,2]') z
select r.id, j.key from r, json_each(json_object('a', r.id)) j where r.id < 3
select id from t tablesample reservoir(10 rows) repeatable (3)
select string_agg(g::varchar, ',') from (select distinct g from t order by g)
select array_agg(id order by id desc) from (select id from t order by v limit 5)
select unnest(list_distinct(list(g order by g))) from t
select id from t where s collate nocase = 'S1' order by s collate nocase
select *, count(*) over () from r qualify row_number() over (partition by k order by id) = 1
select distinct s from t order by s nulls first
select all k from t except all select w from r
(select k from t intersect select w from r) union (select 1) order by 1
select t1.id from t t1, t t2, t t3 where t1.id = t2.k and t2.g = t3.id and t3.b
select id, (select count(*) from r where r.k in (select t2.k from t t2 where t2.g = t.g and t2.id < t.id)) from t where id < 50
select id from t where 3 < (select count(*) from r where r.k = t.k) and exists (select * from r where r.w = t.g)
select id, (select (select max(w) from r r2 where r2.k = r.k) from r where r.id = t.id) from t
select id, x from t, (select max(w) x from r where r.k = t.g) where x > 5
select t.id from t where t.v > all (select v from t t2 where t2.g = t.g and t2.v is not null and t2.id <> t.id)
select g, (select count(*) from r where r.k = t.g) c, sum(v) from t group by g, c
select g from t group by g having sum(v) > (select avg(w) * 100 from r where r.k = t.g)
select s.a, s.b from (select {'a': id, 'b': {'c': g}} s from t) where s.b.c = 3
select count(distinct l), count(distinct {'a': g}), min(l), max({'a': g, 'b': k}) from t
select lower(s), count(*) from t group by 1 order by 2 desc, 1
select id as "order", g as "select" from t order by "order" limit 2
select 'it''s' || chr(10) || '\n', e'a\nb', $$x$$, 'ü€😀'
select timezone('America/New_York', tz), tz at time zone 'Asia/Tokyo', date_trunc('day', tz), extract(hour from tz) from t where id < 3
select x from (values ('a'), ('b')) v(x) where x = any (['a', 'c']) or 'b' = any (select 'b')
select try_cast('x' as int), try(1/0), try(cast('x' as int))
select grouping_id(g, b), g, b, count(*) from t group by cube (g, b) having grouping_id(g, b) < 3
select format('{:.2f} {}', v, s), printf('%d %s', id, s), ltrim('xxa', 'x'), split_part(s, 's', 2), reverse(s), levenshtein(s, 's1'), ascii(s), unicode(s), instr(s, '1'), starts_with(s, 's'), s[1], array_slice(s, 1, 1), ucase(s), nfc_normalize(s) from t where id < 30
select id from r where exists (select 1 from t where t.id = r.id and exists (select 1 from r r2 where r2.k = t.k and r2.w = r.w))
select id, lag(v) over w, sum(v) over w from t window w as (partition by g order by id rows between 1 preceding and 1 following)
select sum(x) from (select unnest(l) x from t)
select unnest([1,2,3]) + 1, unnest(['a','b'])
select age(timestamp '2024-03-01', timestamp '2020-01-01'), date_sub('month', d, date '2025-01-01'), datetrunc('quarter', ts) from t where id < 3
select ((select 1), (select 'a'))
select cast(sum(k) as integer), cast(avg(v) as decimal(10,3)), sum(k)::double / count(*) from t
select u, count(*) from t where u in (uuid '00000000-0000-0000-0000-000000000064', uuid '00000000-0000-0000-0000-000000000065') group by u
select g, bitstring_agg(k, 0, 40) from t group by g
select '0101'::bit & '0011'::bit, bit_count('111'::bit) from t where id < 2
select list(distinct g order by g desc)[1:3], list(k order by v nulls last, id)[1:3] from t
select approx_count_distinct(s), approx_quantile(v, 0.5) is not null, reservoir_quantile(id, 0.5, 100) is not null from t
select histogram(k), histogram_exact(k, [1,2,3]), entropy(k), arg_min(s, v), arg_max_null(s, v) from t
select t.* from t left join r on t.id = r.id where r.id is null
select id, rank() over (partition by g order by v desc) as r from t qualify r < 3
