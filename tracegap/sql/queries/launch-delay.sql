-- How long does device work wait after the call that launched it has begun?
SELECT
    s.name, count(*) AS launches, min(s.ts - l.ts) AS shortest_ns, CAST(avg(s.ts - l.ts) AS INT) AS mean_ns,
    max(s.ts - l.ts) AS longest_ns
FROM tracegap_slice t JOIN slice s ON s.id = t.slice_id JOIN slice l ON l.id = t.launch_slice_id
GROUP BY s.name
ORDER BY mean_ns DESC, s.name
LIMIT 20;
