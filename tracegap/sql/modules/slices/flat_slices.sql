-- The stretches of time in which each slice is the innermost one of its thread. Instants take none, and neither does what
-- stands on a slice that never ends.
CREATE VIEW _slice_flattened AS
WITH RECURSIVE
standing(id, root_id) AS (
    SELECT id, id FROM slice WHERE parent_id IS NULL AND dur > 0
    UNION ALL
    SELECT s.id, b.root_id FROM slice s JOIN standing b ON s.parent_id = b.id
),
child AS (
    SELECT parent_id, ts, ts + dur AS end_ts, id FROM slice WHERE parent_id IS NOT NULL AND dur > 0
),
edge AS (
    SELECT parent_id AS slice_id, end_ts AS ts, lead(ts) OVER (PARTITION BY parent_id ORDER BY ts, id) AS until FROM child
    UNION ALL
    SELECT s.id, s.ts, c.ts
    FROM slice s LEFT JOIN (SELECT parent_id, min(ts) AS ts FROM child GROUP BY parent_id) c ON c.parent_id = s.id
),
piece AS (
    SELECT e.slice_id, e.ts, coalesce(e.until, s.ts + s.dur) - e.ts AS dur
    FROM edge e JOIN slice s ON s.id = e.slice_id WHERE s.dur > 0
)
SELECT
    c.slice_id, c.ts, c.dur, s.depth, s.name, b.root_id,
    s.track_id, t.utid, t.tid, t.name AS thread_name, p.upid, p.pid, p.name AS process_name
FROM piece c
JOIN standing b ON b.id = c.slice_id
JOIN slice s ON s.id = c.slice_id
JOIN thread_track k ON k.id = s.track_id
JOIN thread t USING (utid)
LEFT JOIN process p USING (upid)
WHERE c.dur > 0;
