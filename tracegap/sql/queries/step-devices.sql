-- How much device work belongs to each step, by device and kind (streams that run side by side add up)?
SELECT
    t.step, t.device, t.kind, count(*) AS slices, sum(s.dur) AS total_ns, min(s.ts) - trace_start() AS first_begins_ns,
    max(s.ts + s.dur) - trace_start() AS last_ends_ns
FROM tracegap_slice t JOIN slice s ON s.id = t.slice_id
WHERE t.kind IN ('kernel', 'comm', 'copy')
GROUP BY t.step, t.device, t.kind
ORDER BY t.step, t.device, t.kind;
