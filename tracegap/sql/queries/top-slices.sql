-- Which names have the largest summed duration, nested ones included?
SELECT name, category, count(*) AS slices, sum(dur) AS total_ns, max(dur) AS longest_ns
FROM slice
WHERE dur >= 0
GROUP BY name, category
ORDER BY total_ns DESC, name
LIMIT 20;
