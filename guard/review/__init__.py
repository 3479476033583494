"""Review: the policy reviewer's desk. Works on policies and what may become one; never on a running guard."""
