SELECT list(''::BLOB ORDER BY ''::BLOB) AS c0 FROM parts AS t1
