"""Integrations: the guard beside somebody else's software. Each file imports the one package that it is for when it is used, never before."""
