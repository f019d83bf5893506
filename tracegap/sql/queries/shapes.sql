-- With which input shapes are operators called (PyTorch with record_shapes), and what does each shape cost?
SELECT
    s.name,
    coalesce(extract_arg(arg_set_id, 'args.Input Dims[0][0]'), '') || '×' ||
        coalesce(extract_arg(arg_set_id, 'args.Input Dims[0][1]'), '') AS first_input,
    count(*) AS calls, sum(dur) AS total_ns
FROM slice s
WHERE extract_arg(arg_set_id, 'args.Input Dims[0][0]') IS NOT NULL
GROUP BY s.name, first_input
ORDER BY total_ns DESC, s.name, first_input
LIMIT 20;
