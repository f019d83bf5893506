-- Which kernels and collectives on devices take the most time, and how short is the median one?
WITH ranked AS (
    SELECT
        t.device, s.name, s.dur, row_number() OVER (PARTITION BY t.device, s.name ORDER BY s.dur) AS place,
        count(*) OVER (PARTITION BY t.device, s.name) AS calls
    FROM tracegap_slice t JOIN slice s ON s.id = t.slice_id
    WHERE t.kind IN ('kernel', 'comm')
)
SELECT
    device, name, calls, sum(dur) AS total_ns, max(iif(place = (calls + 1) / 2, dur, NULL)) AS median_ns,
    max(dur) AS longest_ns
FROM ranked
GROUP BY device, name
ORDER BY total_ns DESC, device, name
LIMIT 20;
