-- Which names take the most time of their own, less what nests in them?
INCLUDE PERFETTO MODULE slices.self_dur;
SELECT s.name, count(*) AS slices, sum(d.self_dur) AS self_ns
FROM slice s JOIN slice_self_dur d USING (id)
WHERE s.dur >= 0
GROUP BY s.name
ORDER BY self_ns DESC, s.name
LIMIT 20;
