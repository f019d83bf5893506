"""SQL over a trace: an embedded engine with Perfetto's tables, and the real trace processor behind the same face."""
