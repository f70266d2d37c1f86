SELECT t1.d AS c0 FROM small AS t1 CROSS JOIN UNNEST((SELECT max(t2.li) FROM nulls AS t2 ANTI JOIN small AS t3 ON t2.b = t3.b WHERE t2.l = t1.l)) AS t4(v)
