"""``plans/`` and ``ledger/`` as git objects. ``gateway.py`` is the only user of git and the only place that knows its traps."""
