-- How much time is in changes of layout, casts and copies, which compute nothing: host and devices apart, by category?
SELECT category, name, count(*) AS slices, sum(dur) AS total_ns
FROM slice
WHERE dur >= 0 AND (
    name IN ('Transpose', 'ReorderInput', 'ReorderOutput', 'Cast', 'aten::copy_', 'aten::to_mkldnn', 'aten::to_dense')
    OR (name GLOB '*_kernel_time'
        AND extract_arg(arg_set_id, 'args.op_name') IN ('Transpose', 'ReorderInput', 'ReorderOutput', 'Cast'))
    OR name GLOB '*nchwToNhwc*' OR name GLOB '*nhwcToNchw*' OR name GLOB '*batched_transpose*'
    OR name GLOB 'transpose_[A-Z][A-Z][A-Z][A-Z]2*' OR name GLOB '*direct_copy_kernel*' OR lower(name) GLOB 'memcpy*'
)
GROUP BY category, name
ORDER BY total_ns DESC, name
LIMIT 20;
