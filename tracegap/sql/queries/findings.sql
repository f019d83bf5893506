-- What is worth doing, and what would each change save by itself?
SELECT code, title, cost_ns, saving_ns, text
FROM tracegap_finding;
