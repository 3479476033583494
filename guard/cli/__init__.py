"""The command line `guard …`: thin shells over what a program calls itself. Nothing imports this package."""
