"""publisher: unattended publishing from a Git repository that can always be trusted.

A plan under ``plans/`` says what becomes public and when; a reviewed merge approves exactly that payload; a scheduled run
claims it, builds, deploys, confirms in public, and commits each step's evidence into ``ledger/``.

Reading order for a newcomer: ``domain/lines.py`` (what steps there are), ``domain/tasks.py`` (the six states),
``domain/ledger_events.py`` (what is written down, and what follows from it), ``ports.py`` (every door to the outside),
``engine/deciding.py`` (what happens next, as a pure function), ``engine/running.py`` (how it is carried out), then any room.
"""
