-- Why did the devices run nothing: how much of their idle time has which cause, and in what?
SELECT g.device, c.cause, c.name, sum(c.dur) AS ns, count(DISTINCT c.gap_id) AS gaps
FROM tracegap_gap_cause c JOIN tracegap_gap g ON g.id = c.gap_id
GROUP BY g.device, c.cause, c.name
ORDER BY ns DESC, g.device, c.cause, c.name
LIMIT 20;
