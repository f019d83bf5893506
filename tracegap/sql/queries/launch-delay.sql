-- How long does a kernel of a PyTorch trace wait after the call that launched it, by the file's arrows (flows)?
SELECT
    i.name AS kernel, count(*) AS launches, min(i.ts - o.ts) AS shortest_ns, CAST(avg(i.ts - o.ts) AS INT) AS mean_ns,
    max(i.ts - o.ts) AS longest_ns
FROM flow f JOIN slice o ON o.id = f.slice_out JOIN slice i ON i.id = f.slice_in
WHERE lower(i.category) IN ('kernel', 'gpu_memcpy', 'gpu_memset')
GROUP BY i.name
ORDER BY mean_ns DESC, kernel
LIMIT 20;
