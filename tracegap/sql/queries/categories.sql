-- What is in the trace: slices by category, with their summed duration?
SELECT category, count(*) AS slices, count(DISTINCT name) AS names, sum(iif(dur > 0, dur, 0)) AS total_ns
FROM slice
GROUP BY category
ORDER BY slices DESC, category;
