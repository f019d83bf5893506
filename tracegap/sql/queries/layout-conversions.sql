-- How much time is in layout conversions, copies and casts that compute nothing?
SELECT name, count(*) AS slices, sum(dur) AS total_ns
FROM slice
WHERE dur >= 0 AND (
    lower(name) LIKE '%transpose%' OR lower(name) LIKE '%permute%' OR lower(name) LIKE '%reorder%'
    OR lower(name) LIKE '%nchw%' OR lower(name) LIKE '%nhwc%' OR lower(name) LIKE '%contiguous%'
    OR lower(name) LIKE '%memcpy%' OR lower(name) LIKE '%cast%' OR name IN ('aten::copy_', 'aten::to', 'aten::_to_copy')
)
GROUP BY name
ORDER BY total_ns DESC, name
LIMIT 20;
