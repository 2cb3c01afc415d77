"""How people and CI ask: one file per verb, one error boundary. Nothing is decided here."""
