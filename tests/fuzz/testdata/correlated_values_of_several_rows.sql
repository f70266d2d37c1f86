SELECT t1.id AS c0 FROM skewed AS t1 WHERE (t1.dt NOT IN (SELECT * FROM (VALUES (CAST(date_trunc('month', t1.dt) AS DATE)), (t1.dt + t1.i % 1000), (CAST(t1.tz AS DATE))) AS t3(c0)))
