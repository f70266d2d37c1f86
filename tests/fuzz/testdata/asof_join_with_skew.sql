SELECT t1.n AS c0 FROM skewed AS t1 ASOF JOIN parts AS t2 ON t1.u = t2.u AND t1.id >= t2.id
