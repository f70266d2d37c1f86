SELECT t1.id AS c0 FROM small AS t1 CROSS JOIN small AS t2 JOIN nulls AS t3 ON t1.s = t3.s WHERE (t2.i IN (SELECT * FROM (VALUES (CAST(t1.i AS INTEGER))) AS t4(c0)))
