"""The tables of the embedded engine: Perfetto's names and columns, and which part of the trace fills which.

A column that costs a second reading of the file stands in `DETAIL_COLUMNS`: it is filled only when a query reads it.
"""

TABLES = """
CREATE TABLE slice (
    id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track_id INTEGER, category TEXT, name TEXT, depth INTEGER,
    parent_id INTEGER, arg_set_id INTEGER, thread_ts INTEGER, thread_dur INTEGER, thread_instruction_count INTEGER,
    thread_instruction_delta INTEGER,
    cat TEXT GENERATED ALWAYS AS (category) VIRTUAL, slice_id INTEGER GENERATED ALWAYS AS (id) VIRTUAL
);
CREATE TABLE thread (
    utid INTEGER PRIMARY KEY, id INTEGER GENERATED ALWAYS AS (utid) VIRTUAL, tid INTEGER, name TEXT, start_ts INTEGER,
    end_ts INTEGER, upid INTEGER, is_main_thread INTEGER, is_idle INTEGER, machine_id INTEGER
);
CREATE TABLE process (
    upid INTEGER PRIMARY KEY, id INTEGER GENERATED ALWAYS AS (upid) VIRTUAL, pid INTEGER, name TEXT, start_ts INTEGER,
    end_ts INTEGER, parent_upid INTEGER, uid INTEGER, android_appid INTEGER, android_user_id INTEGER, cmdline TEXT,
    arg_set_id INTEGER, machine_id INTEGER
);
CREATE TABLE __track (
    id INTEGER PRIMARY KEY, name TEXT, type TEXT, parent_id INTEGER, source_arg_set_id INTEGER, machine_id INTEGER,
    unit TEXT, description TEXT, utid INTEGER, upid INTEGER, counts INTEGER
);
CREATE TABLE __key (id INTEGER PRIMARY KEY, flat_key TEXT, key TEXT, value_type TEXT);
CREATE TABLE __arg (id INTEGER PRIMARY KEY, arg_set_id INTEGER, key_id INTEGER, value);
CREATE VIEW args AS
    SELECT id, arg_set_id, (SELECT flat_key FROM __key k WHERE k.id = key_id) AS flat_key,
    (SELECT key FROM __key k WHERE k.id = key_id) AS key, iif(typeof(value) = 'integer', value, NULL) AS int_value,
    iif(typeof(value) = 'text', value, NULL) AS string_value, iif(typeof(value) = 'real', value, NULL) AS real_value,
    (SELECT value_type FROM __key k WHERE k.id = key_id) AS value_type, CASE
        WHEN typeof(value) = 'integer' AND (SELECT value_type FROM __key k WHERE k.id = key_id) = 'bool'
        THEN iif(value, 'true', 'false') ELSE CAST(value AS TEXT) END AS display_value
    FROM __arg;
CREATE TABLE flow (
    id INTEGER PRIMARY KEY, slice_out INTEGER, slice_in INTEGER, trace_id INTEGER, arg_set_id INTEGER
);
CREATE TABLE counter (
    id INTEGER PRIMARY KEY, ts INTEGER, track_id INTEGER, value REAL, arg_set_id INTEGER
);
CREATE TABLE stats (
    name TEXT, key INTEGER, idx INTEGER, severity TEXT, source TEXT, value INTEGER, description TEXT
);
CREATE TABLE trace_bounds (start_ts INTEGER, end_ts INTEGER);
CREATE VIEW slices AS SELECT * FROM slice;
CREATE VIEW track AS
    SELECT id, name, type, NULL AS dimension_arg_set_id, parent_id, source_arg_set_id, machine_id, NULL AS track_group_id
    FROM __track;
CREATE VIEW thread_track AS
    SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid FROM __track WHERE utid IS NOT NULL;
CREATE VIEW process_track AS
    SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
    FROM __track WHERE upid IS NOT NULL AND NOT counts;
CREATE VIEW counter_track AS
    SELECT id, name, parent_id, type, NULL AS dimension_arg_set_id, source_arg_set_id, machine_id, unit, description
    FROM __track WHERE counts;
CREATE VIEW process_counter_track AS
    SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, upid
    FROM __track WHERE counts AND upid IS NOT NULL;
CREATE VIEW counters AS
    SELECT v.*, t.name, t.unit FROM counter v JOIN counter_track t ON v.track_id = t.id;
"""

DETAIL_COLUMNS = {("slice", "arg_set_id"), ("slice", "thread_ts"), ("slice", "thread_dur"), ("flow", "arg_set_id")}
"""Columns that need the events' arguments."""

DETAILS = "details"
"""The part of the trace that fills them."""

SEARCHED = (("slice", "parent_id"), ("flow", "slice_out"), ("flow", "slice_in"), ("__arg", "arg_set_id"))
"""Columns by which rows are looked up: each gets an index when a query first reads it."""

OWN_TABLES = {
    "tracegap_step": ("number", "slice_id", "ts", "dur", "device_end_ts", "cut", "may_be_cut"),
    "tracegap_slice": ("slice_id", "kind", "device", "step", "launch_slice_id", "operator_slice_id"),
    "tracegap_operator": (
        *("slice_id", "ts", "dur", "name", "self_ns", "device_ns", "step"),
        *("shapes", "flops", "bytes"),
    ),
    "tracegap_critical_path": ("ts", "dur", "cause", "waits", "slice_id", "carried_in"),
    "tracegap_gap": ("id", "device", "ts", "dur", "cause", "before_slice_id", "after_slice_id", "exposed_by_slice_id"),
    "tracegap_gap_cause": ("gap_id", "ts", "dur", "cause", "name"),
    "tracegap_waste": ("code", "slice_id", "time_ns"),
    "tracegap_finding": ("code", "title", "text", "cost_ns", "saving_ns", "evidence", "slice_id"),
}
"""Our own tables and their columns, in both engines; `tracegap.sql.own` makes their rows."""

WINDOWED = OWN_TABLES.keys() - {"tracegap_step", "tracegap_slice", "tracegap_operator"}
"""Those that hold a window of the trace; the others hold all of it."""
