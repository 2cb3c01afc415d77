"""Python imports this at its start, where ``PYTHONPATH`` names the folder: the driver's wrapped doors for a workflow's own steps.

Only ``python -m publisher`` gets them, and only if a test asked; what runs is the publisher that the action installed.
"""

import importlib.util
import os
import sys
import types
from pathlib import Path

if sys.orig_argv[1:3] == ["-m", "publisher"] and any(name.startswith("DRIVER_") for name in os.environ):
    # The driver's own helpers are found beside it, and nothing else of that checkout.
    support = Path(os.environ["DRIVER_FILE"]).parent
    for name, folder in (("tests", support.parent), ("tests.support", support)):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    spec = importlib.util.spec_from_file_location("driver_of_tests", os.environ["DRIVER_FILE"])
    driver = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = driver
    spec.loader.exec_module(driver)
    driver.install()
