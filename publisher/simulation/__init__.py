"""The simulation: the production decision code against a model of the world, many thousands of times, from numbered seeds.

Reading order: ``stage`` (one small site and its stories), ``content`` (what has an id), ``talk`` and ``doors`` (how a run's calls
become effects), ``memo`` (each distinct course of a run is executed once), ``world`` (what answers), ``oracles`` (what must be true),
``history`` and ``generator`` (what happens, by seed), ``people`` (how a history ends), ``volume`` (many of them).
"""
