"""Which site a verb is about, where it works on the files of a checkout."""

from __future__ import annotations

from difflib import get_close_matches

from publisher.domain.instance import Instance, Site
from publisher.errors import UsageProblem


def site_of(instance: Instance, named: str | None, verb: str) -> Site:
    """The site that ``--site`` names, or the only one there is."""
    known = sorted(instance.sites)
    if named is None and len(known) == 1:
        return instance.sites[known[0]]
    if named is None:
        raise UsageProblem(
            "which-site",
            f"this instance has {len(known)} sites: {', '.join(known)}",
            next=f"publisher {verb} --site {known[0]}",
        )
    if named not in instance.sites:
        near = get_close_matches(named, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise UsageProblem(
            "unknown-site", f"publisher.yaml has no site {named!a}; {hint}", next=f"publisher {verb} --site {known[0]}"
        )
    return instance.sites[named]
