-- What is on the critical path, by name: work, and waits at the slice where the path waited?
SELECT
    c.cause, c.waits, s.name, count(*) AS segments, sum(c.dur) AS total_ns,
    round(100.0 * sum(c.dur) / (SELECT sum(dur) FROM tracegap_critical_path), 1) AS per_cent
FROM tracegap_critical_path c LEFT JOIN slice s ON s.id = c.slice_id
GROUP BY c.cause, c.waits, s.name
ORDER BY total_ns DESC, c.cause, s.name
LIMIT 20;
