-- Conditions that no bucket can tell are predicate bits; many bounds and predicate bits are abridged.
CREATE QUERY a AS SELECT window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE car_id LIKE 'a%' AND kind = 'a''s (1), (2)';
CREATE QUERY b AS SELECT window_start, count(*) AS n FROM traffic [RANGE 10 SECONDS] WHERE car_id LIKE 'b%' AND kind IN ('b', 'c', 'd', 'e', 'f');
CREATE QUERY c AS SELECT window_start, 'c''s' AS who, count(*) AS n FROM traffic [RANGE 20 SECONDS] WHERE (car_id LIKE 'c%' OR car_id LIKE 'd%') AND car_id LIKE '%e' AND car_id LIKE '%, f)' AND kind = 'b' AND length(car_id) > 2;
