-- One unit from the stream to the query's end.
CREATE QUERY fast AS SELECT car_id, mph * 2 AS twice FROM traffic t WHERE t.mph > 60 AND kind = 'car';
