-- Which single slices are the longest, and on which thread?
INCLUDE PERFETTO MODULE slices.with_context;
SELECT name, category, process_name, thread_name, ts, dur
FROM thread_slice
ORDER BY dur DESC, ts, id
LIMIT 20;
