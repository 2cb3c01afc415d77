"""Speaks when something changed or a choice is needed: announcements to readers, notices to the people on call."""
