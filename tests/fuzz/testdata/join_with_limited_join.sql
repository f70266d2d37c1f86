SELECT t1.id AS c0 FROM small AS t1 JOIN (SELECT t2.id AS c0 FROM parts AS t2 SEMI JOIN skewed AS t3 ON t2.i = t3.i ORDER BY 1 LIMIT 20) AS t4 ON t1.l = t4.c0
