-- Which arguments have slices, by category: how many have each, and what does it look like?
SELECT
    s.category, a.key, count(*) AS slices, min(a.value_type) AS type,
    min(coalesce(a.string_value, a.int_value, a.real_value)) AS example
FROM slice s JOIN args a USING (arg_set_id)
GROUP BY s.category, a.key
ORDER BY s.category, a.key;
