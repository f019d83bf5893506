-- Which arguments do slices have, by category: how many have each, and what does it look like?
SELECT
    s.category, a.key, a.value_type, count(*) AS slices,
    min(coalesce(a.string_value, a.int_value, a.real_value)) AS example
FROM slice s JOIN args a USING (arg_set_id)
GROUP BY s.category, a.key, a.value_type
ORDER BY s.category, a.key, a.value_type;
