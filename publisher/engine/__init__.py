"""What happens next: decisions, and carrying them out through ports."""
