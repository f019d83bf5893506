-- What are the longest stretches in which a device ran nothing, why, and between which slices do they lie?
SELECT g.device, g.ts, g.dur, g.cause, b.name AS before, a.name AS after
FROM tracegap_gap g LEFT JOIN slice b ON b.id = g.before_slice_id LEFT JOIN slice a ON a.id = g.after_slice_id
ORDER BY g.dur DESC, g.ts, g.device
LIMIT 20;
