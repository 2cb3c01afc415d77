"""Looks at the world: independent probes of the public site, and what the site says about itself."""
