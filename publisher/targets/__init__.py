"""Where a release becomes public: one file for each kind of target, and the registry ``all_targets.py``."""
