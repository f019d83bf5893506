-- How does the time of the most expensive operators differ from step to step?
WITH top AS (
    SELECT name FROM tracegap_operator WHERE step IS NOT NULL GROUP BY name ORDER BY sum(self_ns) DESC, name LIMIT 5
)
SELECT step, name, count(*) AS calls, sum(self_ns) AS self_ns
FROM tracegap_operator JOIN top USING (name)
WHERE step IS NOT NULL
GROUP BY step, name
ORDER BY step, self_ns DESC, name;
