-- A comment; with a semicolon.
;; /* another; */ SELECT 'a;b' AS `c;d` -- and ; here
; SELECT "x--y", '/* no comment */' ;
	SELECT 1 /* inner */ + /* nested /* twice */ */ 2;

SELECT r'\d;' AS raw, 'line
break' AS two
