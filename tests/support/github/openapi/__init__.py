"""GitHub's own OpenAPI description, the part that is simulated: ``extract.py`` made the JSON files, ``judge.py`` judges by them."""
