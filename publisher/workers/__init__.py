"""How a step is done: one file per step, talking to ports only. ``all_workers.py`` has one line per step."""
