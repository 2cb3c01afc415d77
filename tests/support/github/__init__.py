"""GitHub as publisher meets it, for tests: one repository with people, Apps, pull requests and Actions, over real HTTP.

Start with ``simulator.py``. What it models of GitHub is listed, sentence by sentence, in ``modelled_rules.py``; the contract tests
(``tests/contracts/test_github_*.py``) show each of them, and that they would notice if it were gone. The shape of every
answer is judged by GitHub's own OpenAPI description (``openapi/``).
"""
