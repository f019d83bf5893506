-- How long is each step, and how long after its end does its device work go on?
SELECT number, ts, dur, max(device_end_ts - (ts + dur), 0) AS device_after_ns, cut, may_be_cut
FROM tracegap_step
ORDER BY ts;
