-- How long each counter keeps its values, the last to the end of the trace: a row for each value that differs from the one
-- before, and one for all the equal ones that follow it.
CREATE PERFETTO MACRO counter_leading_intervals(counter_table TableOrSubquery)
RETURNS TableOrSubquery AS (
    SELECT
        id, ts, lead(ts, 1, trace_end()) OVER counted - ts AS dur, track_id, value,
        lead(value) OVER counted AS next_value, value - before AS delta_value
    FROM (
        SELECT *, lag(value) OVER every AS before, lag(value, 2) OVER every AS before_that
        FROM $counter_table WINDOW every AS (PARTITION BY track_id ORDER BY ts, id)
    )
    WHERE value IS NOT before OR before IS NOT before_that
    WINDOW counted AS (PARTITION BY track_id ORDER BY ts, id)
);
