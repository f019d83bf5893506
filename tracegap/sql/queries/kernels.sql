-- Which device kernels of a PyTorch trace take the most time, and how short is the median one?
WITH ranked AS (
    SELECT
        name, dur, row_number() OVER (PARTITION BY name ORDER BY dur) AS place, count(*) OVER (PARTITION BY name) AS calls
    FROM slice
    WHERE lower(category) = 'kernel'
)
SELECT name, calls, sum(dur) AS total_ns, max(iif(place = (calls + 1) / 2, dur, NULL)) AS median_ns, max(dur) AS longest_ns
FROM ranked
GROUP BY name
ORDER BY total_ns DESC, name
LIMIT 20;
