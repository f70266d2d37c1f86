SELECT t1.d AS c0, var_samp(t1.d) AS c1 FROM parts AS t1 GROUP BY CUBE(t1.d, t1.tm) HAVING (NOT (t1.tm = t1.tm))
