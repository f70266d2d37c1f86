SELECT t1.id AS c0 FROM parts AS t1 CROSS JOIN UNNEST((SELECT max(t2.li) FROM small AS t2)) AS t3(v) JOIN small AS t4 ON t1.id = t4.id
