-- What does each thread or stream hold: slices, its first and last moment, the time covered by its outermost slices?
INCLUDE PERFETTO MODULE slices.with_context;
SELECT
    process_name, thread_name, count(*) AS slices, min(ts) AS first_ts, max(ts + dur) AS last_ts,
    sum(iif(depth = 0 AND dur > 0, dur, 0)) AS covered_ns
FROM thread_slice
GROUP BY utid
ORDER BY covered_ns DESC, utid;
