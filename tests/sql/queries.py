"""The query matrix: what is asked of both engines and must give equal rows.

No query reads ids of argument sets or tracks, whose numbers are each engine's own, and each that could give rows in
several orders has one that is total.
"""

WITH_CONTEXT = "INCLUDE PERFETTO MODULE slices.with_context; "

MATRIX = {
    # slices
    "count": "SELECT count(*) FROM slice",
    "rows": "SELECT id, ts, dur, category, name, depth, parent_id FROM slice ORDER BY id",
    "sum by name": "SELECT name, sum(dur), count(*) FROM slice GROUP BY name ORDER BY 2 DESC, 1",
    "sum by category": "SELECT category, sum(dur), count(*) FROM slice GROUP BY category ORDER BY category",
    "extremes": "SELECT min(ts), max(ts), min(dur), max(dur), count(DISTINCT name), max(depth) FROM slice",
    "aliases": "SELECT slice_id, cat FROM slice ORDER BY id LIMIT 50",
    "longest": "SELECT id, name, dur FROM slice ORDER BY dur DESC, id LIMIT 20",
    "instants": "SELECT name, count(*) FROM slice WHERE dur = 0 GROUP BY name ORDER BY name",
    "unfinished": "SELECT name, ts FROM slice WHERE dur = -1 ORDER BY id",
    "like": "SELECT count(*) FROM slice WHERE name LIKE '%aten%'",
    "glob": "SELECT name, count(*) FROM slice WHERE name GLOB '*[Cc]opy*' GROUP BY name ORDER BY name",
    "between": "SELECT count(*) FROM slice WHERE dur BETWEEN 1000 AND 100000",
    "in": "SELECT id FROM slice WHERE name IN (SELECT name FROM slice ORDER BY dur DESC, id LIMIT 3) ORDER BY id LIMIT 50",
    "having": "SELECT name FROM slice GROUP BY name HAVING count(*) > 3 AND sum(dur) > 10000 ORDER BY name",
    "depth histogram": "SELECT depth, count(*), sum(dur) FROM slice GROUP BY depth ORDER BY depth",
    "roots": "SELECT count(*), sum(dur) FROM slice WHERE parent_id IS NULL",
    "substr": "SELECT substr(name, 1, 6) AS start, count(*) FROM slice GROUP BY start ORDER BY start",
    "case": "SELECT CASE WHEN dur < 1000 THEN 'short' WHEN dur < 1000000 THEN 'mid' ELSE 'long' END AS size, count(*) "
    "FROM slice GROUP BY size ORDER BY size",
    "iif": "SELECT sum(iif(depth = 0, dur, 0)) FROM slice",
    "avg": "SELECT name, CAST(avg(dur) AS INT) FROM slice GROUP BY name ORDER BY name",
    "union": "SELECT name FROM slice WHERE depth = 0 UNION SELECT category FROM slice ORDER BY 1",
    "except": "SELECT name FROM slice EXCEPT SELECT name FROM slice WHERE parent_id IS NOT NULL ORDER BY 1",
    "exists": "SELECT count(*) FROM slice s WHERE EXISTS (SELECT 1 FROM slice c WHERE c.parent_id = s.id)",
    "bounds": "SELECT end_ts - start_ts FROM trace_bounds",
    "trace functions": "SELECT trace_start(), trace_end(), trace_dur()",
    # nesting and self time
    "parents": "SELECT c.id, p.name FROM slice c JOIN slice p ON p.id = c.parent_id ORDER BY c.id LIMIT 200",
    "children": "SELECT p.name, count(*), sum(c.dur) FROM slice c JOIN slice p ON p.id = c.parent_id "
    "GROUP BY p.name ORDER BY p.name",
    "self time by hand": "SELECT s.name, sum(s.dur) - sum(coalesce(c.dur, 0)) FROM slice s LEFT JOIN "
    "(SELECT parent_id, sum(dur) AS dur FROM slice GROUP BY parent_id) c ON c.parent_id = s.id "
    "GROUP BY s.name ORDER BY s.name",
    "self time": "INCLUDE PERFETTO MODULE slices.self_dur; SELECT s.name, sum(d.self_dur) FROM slice s "
    "JOIN slice_self_dur d USING (id) WHERE s.dur >= 0 GROUP BY s.name ORDER BY s.name",
    "flat slices": "INCLUDE PERFETTO MODULE slices.flat_slices; SELECT utid, sum(dur) FROM _slice_flattened "
    "GROUP BY utid ORDER BY utid",
    "ancestors": "SELECT name, depth FROM ancestor_slice((SELECT id FROM slice ORDER BY depth DESC, id LIMIT 1)) ORDER BY id",
    "descendants": "SELECT id, name FROM descendant_slice((SELECT id FROM slice WHERE dur > 0 ORDER BY dur DESC, id LIMIT 1)) "
    "ORDER BY id LIMIT 100",
    "ancestors of each": "SELECT s.id, a.name FROM slice s JOIN ancestor_slice(s.id) a WHERE s.id < 300 ORDER BY s.id, a.id",
    "ancestors with a condition": "SELECT s.id, a.id AS root FROM slice s JOIN ancestor_slice(s.id) AS a ON a.depth = 0 "
    "WHERE s.id < 300 ORDER BY s.id",
    "slices at once": "INCLUDE PERFETTO MODULE intervals.overlap; SELECT value, count(*), min(ts) FROM "
    "intervals_overlap_count!((SELECT ts, dur FROM slice WHERE depth = 0 AND dur > 0), ts, dur) GROUP BY value ORDER BY value",
    "slices at once by name": "INCLUDE PERFETTO MODULE intervals.overlap; SELECT group_name, ts, value FROM "
    "intervals_overlap_count_by_group!((SELECT ts, dur, name FROM slice WHERE id < 200 AND dur > 0), ts, dur, name) "
    "ORDER BY group_name, ts",
    "recursive": "WITH RECURSIVE up(id, parent_id, height) AS (SELECT id, parent_id, 0 FROM slice WHERE id = "
    "(SELECT max(id) FROM slice WHERE depth > 0) UNION ALL SELECT s.id, s.parent_id, height + 1 FROM slice s "
    "JOIN up ON s.id = up.parent_id) SELECT * FROM up ORDER BY height",
    # window functions
    "row number": "SELECT id, row_number() OVER (PARTITION BY name ORDER BY ts, id) FROM slice ORDER BY id LIMIT 200",
    "rank": "SELECT name, rank() OVER (ORDER BY sum(dur) DESC) AS place FROM slice GROUP BY name ORDER BY place, name",
    "lag": "SELECT id, ts - lag(ts) OVER (ORDER BY id) FROM slice ORDER BY id LIMIT 200",
    "lead on a track": "SELECT id, lead(name) OVER (PARTITION BY track_id ORDER BY id) FROM slice ORDER BY id LIMIT 200",
    "running sum": "SELECT id, sum(dur) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM slice WHERE dur >= 0 "
    "ORDER BY id LIMIT 200",
    "first value": "SELECT DISTINCT name, first_value(dur) OVER (PARTITION BY name ORDER BY id) FROM slice ORDER BY name",
    "ntile": "SELECT quarter, count(*) FROM (SELECT ntile(4) OVER (ORDER BY dur, id) AS quarter FROM slice) "
    "GROUP BY quarter ORDER BY quarter",
    # threads, processes, tracks
    "threads": "SELECT utid, tid, t.name, upid, pid, p.name AS process, is_main_thread, is_idle FROM thread t "
    "LEFT JOIN process p USING (upid) ORDER BY utid",
    "processes": "SELECT upid, pid, name FROM process ORDER BY upid",
    "named threads": "SELECT count(*) FROM thread WHERE name IS NOT NULL",
    "threads of a process": "SELECT p.name, pid, count(*) FROM thread JOIN process p USING (upid) "
    "GROUP BY upid ORDER BY upid",
    "thread tracks": "SELECT utid, type FROM thread_track ORDER BY utid",
    "track types": "SELECT type, count(*) FROM track GROUP BY type ORDER BY type",
    "by hand to the thread": "SELECT t.tid, t.name, count(*), sum(s.dur) FROM slice s JOIN thread_track k "
    "ON s.track_id = k.id JOIN thread t USING (utid) GROUP BY utid ORDER BY utid",
    "thread_slice": WITH_CONTEXT + "SELECT id, name, thread_name, utid, tid, is_main_thread, process_name, pid, depth "
    "FROM thread_slice ORDER BY id LIMIT 500",
    "thread_slice sums": WITH_CONTEXT + "SELECT utid, tid, thread_name, sum(dur), count(*) FROM thread_slice "
    "GROUP BY utid ORDER BY utid",
    "process_slice": WITH_CONTEXT + "SELECT id, name, process_name, pid FROM process_slice ORDER BY id",
    "thread_or_process_slice": WITH_CONTEXT + "SELECT id, name, tid, pid FROM thread_or_process_slice "
    "ORDER BY id LIMIT 500",
    # arguments
    "argument values": "SELECT key, count(*), count(DISTINCT int_value), count(DISTINCT string_value) FROM args "
    "WHERE key GLOB 'args.*' GROUP BY key ORDER BY key",
    "argument types": "SELECT flat_key, value_type, count(*) FROM args WHERE key GLOB 'args.*' "
    "GROUP BY flat_key, value_type ORDER BY 1, 2",
    "slices with arguments": "SELECT count(arg_set_id), count(*) FROM slice",
    "distinct sets": "SELECT count(DISTINCT arg_set_id) FROM slice",
    "arguments of a slice": "SELECT s.id, a.key, a.int_value, a.string_value, a.real_value, a.value_type FROM slice s "
    "JOIN args a USING (arg_set_id) WHERE s.id < 100 AND coalesce(length(a.string_value), 0) < 10000 ORDER BY s.id, a.key",
    "displayed": "SELECT s.id, a.key, a.display_value FROM slice s JOIN args a USING (arg_set_id) "
    "WHERE s.id < 100 AND value_type != 'real' AND coalesce(length(a.string_value), 0) < 10000 ORDER BY s.id, a.key",
    "extract_arg": "SELECT extract_arg(arg_set_id, 'args.External id') AS x, count(*) FROM slice GROUP BY x ORDER BY x",
    "extract_arg in an array": "SELECT extract_arg(arg_set_id, 'args.Input Dims[0][0]') AS x, count(*), sum(dur) FROM slice "
    "GROUP BY x ORDER BY x",
    "extract_arg in a condition": "SELECT name, dur FROM slice WHERE extract_arg(arg_set_id, 'args.stream') = 7 "
    "ORDER BY id LIMIT 100",
    "join by correlation": "SELECT h.name, count(*) FROM slice h JOIN slice d ON extract_arg(h.arg_set_id, "
    "'args.correlation') = extract_arg(d.arg_set_id, 'args.correlation') AND h.id < d.id WHERE h.id < 300 AND d.id < 300 "
    "GROUP BY h.name ORDER BY h.name",
    "thread times": "SELECT id, thread_ts, thread_dur FROM slice WHERE thread_ts IS NOT NULL ORDER BY id LIMIT 200",
    # flows
    "flows": "SELECT slice_out, slice_in FROM flow ORDER BY 1, 2",
    "flow names": "SELECT o.name AS source, i.name AS target, count(*) FROM flow f JOIN slice o ON o.id = f.slice_out "
    "JOIN slice i ON i.id = f.slice_in GROUP BY 1, 2 ORDER BY 1, 2",
    "flow delays": "SELECT f.slice_in, i.ts - o.ts FROM flow f JOIN slice o ON o.id = slice_out "
    "JOIN slice i ON i.id = slice_in ORDER BY 1, 2 LIMIT 500",
    "flow arguments": "SELECT extract_arg(arg_set_id, 'name') AS n, extract_arg(arg_set_id, 'cat') AS c, count(*) FROM flow "
    "GROUP BY 1, 2 ORDER BY 1, 2",
    "following": "SELECT slice_out, slice_in FROM following_flow((SELECT min(slice_out) FROM flow)) ORDER BY 1, 2",
    "preceding": "SELECT slice_out, slice_in FROM preceding_flow((SELECT max(slice_in) FROM flow)) ORDER BY 1, 2",
    "connected": "SELECT slice_out, slice_in FROM directly_connected_flow((SELECT min(slice_out) FROM flow)) ORDER BY 1, 2",
    "flow stats": "SELECT name, value FROM stats WHERE name LIKE 'flow%' AND value > 0 ORDER BY name",
    # counters
    "counters": "SELECT t.name, c.ts, c.value FROM counter c JOIN counter_track t ON t.id = c.track_id "
    "ORDER BY t.name, t.id, c.ts, c.id",
    "counter ranges": "SELECT t.name, upid, count(*), min(value), max(value) FROM counter c "
    "JOIN process_counter_track t ON t.id = c.track_id GROUP BY t.id ORDER BY t.name, upid",
    "counter steps": "SELECT t.name, c.ts, c.value - lag(c.value) OVER (PARTITION BY t.id ORDER BY c.ts, c.id) "
    "FROM counter c JOIN counter_track t ON t.id = c.track_id ORDER BY t.name, t.id, c.ts, c.id",
    "how long a counter stands": "INCLUDE PERFETTO MODULE counters.intervals; SELECT t.name, c.ts, c.dur, c.value, "
    "c.next_value, c.delta_value FROM counter_leading_intervals!(counter) c JOIN counter_track t ON t.id = c.track_id "
    "ORDER BY t.name, t.id, c.ts, c.id",
    # what users make
    "table": "CREATE PERFETTO TABLE long_ones AS SELECT * FROM slice WHERE dur > 1000; SELECT count(*) FROM long_ones",
    "view": "CREATE PERFETTO VIEW short_ones AS SELECT name, dur FROM slice WHERE dur < 1000; "
    "SELECT name, count(*) FROM short_ones GROUP BY name ORDER BY name",
    "function": "CREATE PERFETTO FUNCTION micros(ns LONG) RETURNS LONG AS SELECT $ns / 1000; "
    "SELECT name, micros(sum(dur)) FROM slice GROUP BY name ORDER BY name",
    "function over a table": "CREATE PERFETTO FUNCTION total_of(wanted STRING) RETURNS LONG AS "
    "SELECT sum(dur) FROM slice WHERE name = $wanted; SELECT total_of(name) FROM slice WHERE id < 5 ORDER BY id",
    "function with rows": "CREATE PERFETTO FUNCTION longer_than(ns LONG, part STRING) RETURNS TABLE(name STRING, dur LONG) AS "
    "SELECT name, dur FROM slice WHERE dur > $ns AND name GLOB $part; "
    "SELECT name, sum(dur) FROM longer_than(500 + 500, '*a*') GROUP BY name ORDER BY name",
    "functions with rows in each other": "CREATE PERFETTO FUNCTION of_depth(d LONG) RETURNS TABLE(id LONG, dur LONG) AS "
    "SELECT id, dur FROM slice WHERE depth = $d; CREATE PERFETTO FUNCTION deepest() RETURNS TABLE(id LONG, dur LONG) AS "
    "SELECT * FROM of_depth((SELECT max(depth) FROM slice)); "
    "SELECT s.name, d.dur FROM deepest() d JOIN slice s ON s.id = d.id ORDER BY d.id LIMIT 100",
    "macro": "CREATE PERFETTO MACRO half(x Expr) RETURNS Expr AS $x / 2; SELECT half!(sum(dur)) FROM slice",
    "percentile": "SELECT CAST(percentile(dur, 90) AS INT), CAST(median(dur) AS INT) FROM slice WHERE dur >= 0",
}
