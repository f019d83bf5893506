def meta(kind, name, *, tid=None):
    return {"ph": "M", "name": kind, "pid": 701, **({} if tid is None else {"tid": tid}), "args": {"name": name}}


def row(name, ts, dur, *, tid=5, **args):
    return {"ph": "X", "name": name, "pid": 701, "tid": tid, "ts": ts, "dur": dur, **({"args": args} if args else {})}


PLANES = [
    meta("process_name", "/host:CPU"),
    meta("thread_name", "python", tid=5),
    meta("thread_name", "tf_XLAPjRtCpuClient/30721", tid=6),
]


def test_python_frames_annotations_and_xla_operators(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                row("$train.py:12 main", 0, 100),
                row("train", 1, 90, step_num="3"),
                row("load_batch", 2, 20),
                row("PjitFunction(loss)", 30, 20),
                row("ParseArguments", 31, 1),
                row("CommonPjRtBuffer::Await", 60, 20),
                row("ThunkExecutor::Execute", 35, 30, tid=6),
                row("fusion.4", 36, 20, tid=6, hlo_op="fusion.4", hlo_module="jit_loss"),
                row("end: fusion.4", 56, 1, tid=6),
                {},
            ]
        }
    )
    assert told.dialect == "jax"
    assert told.kinds() == {
        "$train.py:12 main": "FRAME",
        "train": "STEP",
        "load_batch": "ANNOTATION",
        "PjitFunction(loss)": "OP",
        "ParseArguments": "RUNTIME",
        "CommonPjRtBuffer::Await": "SYNC",
        "ThunkExecutor::Execute": "OTHER",
        "fusion.4": "OP",
    }
    assert told.steps() == [3]


def test_a_trace_without_steps_has_none(mark):
    assert mark({"traceEvents": [*PLANES, row("PjitFunction(loss)", 0, 5)]}).steps() == []
