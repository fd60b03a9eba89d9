-- The table is no stream: it is sent to every worker.
CREATE QUERY roads_taken AS
  SELECT t.car_id, r.name, r.mph AS allowed
  FROM traffic t LEFT JOIN roads r ON t.mph = r.id AND r.name LIKE 'A%';
