-- The stretches of time in which each slice is the innermost one of its thread.
CREATE VIEW _slice_flattened AS
WITH
edge AS (
    SELECT parent_id AS slice_id, ts + max(dur, 0) AS ts, lead(ts) OVER (PARTITION BY parent_id ORDER BY ts, id) AS until
    FROM slice WHERE parent_id IS NOT NULL
    UNION ALL
    SELECT s.id, s.ts, c.ts
    FROM slice s
    LEFT JOIN (SELECT parent_id, min(ts) AS ts FROM slice WHERE parent_id IS NOT NULL GROUP BY parent_id) c
        ON c.parent_id = s.id
),
piece AS (
    SELECT e.slice_id, e.ts, coalesce(e.until, s.ts + s.dur) - e.ts AS dur FROM edge e JOIN slice s ON s.id = e.slice_id
)
SELECT
    c.slice_id, c.ts, c.dur, s.depth, s.name,
    (WITH RECURSIVE up(id, parent_id) AS (
        SELECT s.id, s.parent_id UNION ALL SELECT q.id, q.parent_id FROM slice q JOIN up ON q.id = up.parent_id
    ) SELECT id FROM up WHERE parent_id IS NULL) AS root_id,
    s.track_id, t.utid, t.tid, t.name AS thread_name, p.upid, p.pid, p.name AS process_name
FROM piece c
JOIN slice s ON s.id = c.slice_id
JOIN thread_track k ON k.id = s.track_id
JOIN thread t USING (utid)
LEFT JOIN process p USING (upid)
WHERE c.dur > 0;
