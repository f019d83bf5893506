-- How many intervals run at once: a row for each moment at which the number changes.
CREATE PERFETTO MACRO intervals_overlap_count(segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName)
RETURNS TableOrSubquery AS (
    SELECT ts, sum(sum(change)) OVER (ORDER BY ts) AS value
    FROM (
        SELECT $ts_column AS ts, 1 AS change FROM $segments
        UNION ALL
        SELECT $ts_column + $dur_column, -1 FROM $segments WHERE $dur_column != -1
    )
    GROUP BY ts
    ORDER BY ts
);

-- The same for the intervals of each group.
CREATE PERFETTO MACRO intervals_overlap_count_by_group(
    segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName, group_column ColumnName
)
RETURNS TableOrSubquery AS (
    SELECT ts, sum(sum(change)) OVER (PARTITION BY group_name ORDER BY ts) AS value, group_name
    FROM (
        SELECT $ts_column AS ts, 1 AS change, $group_column AS group_name FROM $segments
        UNION ALL
        SELECT $ts_column + $dur_column, -1, $group_column FROM $segments WHERE $dur_column != -1
    )
    GROUP BY group_name, ts
    ORDER BY ts
);
