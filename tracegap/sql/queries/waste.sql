-- Which work brought the result no nearer (changes of layout and type, round trips, repeats), slice by slice?
SELECT w.code, s.name, count(*) AS slices, sum(w.time_ns) AS time_ns
FROM tracegap_waste w JOIN slice s ON s.id = w.slice_id
GROUP BY w.code, s.name
ORDER BY sum(sum(w.time_ns)) OVER (PARTITION BY w.code) DESC, w.code, time_ns DESC, s.name;
