create table t(id integer, g integer, k integer, v double, s varchar, d date, ts timestamp, b boolean, de decimal(10,2), l integer[], h hugeint, u uuid, tz timestamp with time zone, tm time, bl blob, ub ubigint, iv interval);
create table r(id integer, k integer, w integer, name varchar, ts timestamp);
insert into t select i, i % 7, case when i % 11 = 0 then null else (hash(i, 'k') % 40)::integer end,
  case when i % 13 = 0 then null else (hash(i, 'v') % 1000)::integer / 10.0 end, case when i % 9 = 0 then null else 's' || (i % 23) end,
  date '2024-01-01' + (i % 60)::integer, timestamp '2024-01-01 00:00:00' + to_minutes((i * 17) % 5000), i % 3 = 0, (i * 37 % 1000) / 100.0,
  case when i % 10 = 0 then null when i % 6 = 0 then [] else [i % 5, (i * 3) % 7, null] end, i * 100000000000::hugeint,
  cast('00000000-0000-0000-0000-' || lpad(i::varchar, 12, '0') as uuid), '2024-01-01 00:00:00+00'::timestamptz + to_hours(i::integer),
  time '00:00:00' + to_seconds(i * 61 % 86400), ('b' || i)::blob, i, to_days((i % 5)::integer) from range(1, 501) x(i);
insert into r select i, case when i % 5 = 0 then null else i % 25 end, case when i % 4 = 0 then null else (i * 7) % 50 end, 'n' || (i % 6),
  timestamp '2024-01-01 00:00:00' + to_minutes((i * 53) % 5000) from range(1, 81) x(i);
create schema ns;
create view ns.t as from main.t;
create view ns.r as from main.r;
