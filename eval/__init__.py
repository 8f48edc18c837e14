"""Measuring: metrics, data sets, comparisons, benchmarks, reports."""
