-- How much host time of a PyTorch trace goes into calls of the device's API (launches, copies, synchronisation, allocation)?
SELECT name, count(*) AS calls, sum(dur) AS total_ns, max(dur) AS longest_ns
FROM slice
WHERE category IN ('cuda_runtime', 'cuda_driver', 'hip_runtime', 'Runtime', 'runtime', 'privateuse1_runtime')
GROUP BY name
ORDER BY total_ns DESC, name
LIMIT 20;
