import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracegap.dialects.rows import labels, latest

entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=12)


def slow_latest(have, sought):
    """Look at every candidate; of equal times the last given wins."""
    found = []
    for key, when in sought:
        before = [(time, place) for place, (own, time) in enumerate(have) if own == key and time <= when]
        after = [(time, place) for place, (own, time) in enumerate(have) if own == key]
        found.append(max(before)[1] if before else min(after)[1] if after else -1)
    return found


@given(have=entries, sought=entries)
def test_the_latest_candidate_is_that_of_looking_at_every_one(have, sought):
    columns = [np.array([entry[part] for entry in side], np.int64) for side in (have, sought) for part in (0, 1)]
    assert latest(*columns).tolist() == slow_latest(have, sought)


@given(rows=entries)
def test_rows_alike_have_one_label_in_order_of_their_values(rows):
    found = labels(*(np.array([row[part] for row in rows], np.int64) for part in (0, 1))).tolist()
    assert found == [sorted(set(rows)).index(row) for row in rows]
