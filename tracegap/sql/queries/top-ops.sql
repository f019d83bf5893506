-- Which operators take the most time of their own, and how much device time do they start?
SELECT name, count(*) AS calls, sum(self_ns) AS self_ns, sum(dur) AS total_ns, sum(device_ns) AS device_ns
FROM tracegap_operator
GROUP BY name
ORDER BY self_ns DESC, name
LIMIT 20;
