-- What are the longest stretches in which a thread or stream has no slice, and between which two slices do they lie?
INCLUDE PERFETTO MODULE slices.with_context;
WITH outermost AS (
    SELECT
        utid, process_name, thread_name, name, ts, max(ts + dur) OVER earlier AS idle_from,
        lag(name) OVER (PARTITION BY utid ORDER BY ts, id) AS before
    FROM thread_slice
    WHERE depth = 0 AND dur > 0
    WINDOW earlier AS (PARTITION BY utid ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT process_name, thread_name, before, name AS after, idle_from AS ts, ts - idle_from AS dur
FROM outermost
WHERE ts > idle_from
ORDER BY dur DESC, ts, utid
LIMIT 20;
