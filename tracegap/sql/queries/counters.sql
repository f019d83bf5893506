-- How far do the counters of the trace range (memory, power, counts)?
SELECT t.name, count(*) AS samples, min(c.value) AS lowest, max(c.value) AS highest
FROM counter c JOIN counter_track t ON t.id = c.track_id
GROUP BY t.name
ORDER BY t.name;
