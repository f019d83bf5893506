-- What is worth doing, what would each change save by itself, and which slice shows it best?
SELECT f.code, f.title, f.cost_ns, f.saving_ns, s.name AS slice, s.ts, f.text
FROM tracegap_finding f LEFT JOIN slice s ON s.id = f.slice_id
ORDER BY coalesce(f.saving_ns, f.cost_ns) DESC, f.code;
