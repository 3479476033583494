"""Proof: what shows that the audit log is whole: keys, checkpoints, where they go, and the check of records against them.

May not write a record of a decision or judge one. Comes after the stores' chain; used by compose and the command line.
"""
