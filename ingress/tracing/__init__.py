"""Traces: which requests are part of one that is sampled, what their spans say, and how they get to a collector.

    tracer.py               what the proxy asks and tells while it serves (sampling.py, sub_request_span.py)
      │ ended.py: what ended, with its times
      ▼
    export_thread.py        a thread ──▶ spans.py: what ended, as spans ──▶ otlp.py, bounded_http.py: to the collector

``tracing.py`` joins both sides, or is off.
"""
