-- Each slice's time less that of its children.
CREATE VIEW slice_self_dur AS
SELECT s.id, s.dur - coalesce(c.dur, 0) AS self_dur
FROM slice s
LEFT JOIN (SELECT parent_id, sum(dur) AS dur FROM slice WHERE parent_id IS NOT NULL GROUP BY parent_id) c
    ON c.parent_id = s.id;
