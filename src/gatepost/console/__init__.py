"""Serves the dashboard: the files that `dashboard/` is built into."""
