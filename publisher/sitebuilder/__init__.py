"""Approved public forms and a theme into an immutable release; and the scan that shows that nothing else is in it.

The only room that uses jinja2, markdown-it-py, mdit-py-plugins, nh3, pygments and feedgenerator.

Reading order: ``builder.py`` (the door), ``public_form.py`` (what ``prepare`` writes and the build reads), ``markdown.py``,
``output_v1.py`` (which files a release has), ``leak_scan.py``.
"""
