"""Where approvals come from: ``signed_git.py`` and ``requests.py`` for forge ``git``, which needs no host at all."""
