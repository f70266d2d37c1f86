SELECT t1.id AS c0, corr(1, t1.d) AS c1 FROM skewed AS t1 GROUP BY ROLLUP(t1.id)
