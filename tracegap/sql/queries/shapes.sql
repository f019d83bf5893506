-- With which shapes are operators called, and what does each cost on the host and on devices?
SELECT
    name, shapes, count(*) AS calls, sum(dur) AS total_ns, sum(self_ns) AS self_ns, sum(device_ns) AS device_ns,
    max(flops) AS flops_a_call
FROM tracegap_operator
WHERE shapes IS NOT NULL
GROUP BY name, shapes
ORDER BY max(sum(self_ns), sum(device_ns)) DESC, name, shapes
LIMIT 20;
