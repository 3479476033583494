"""Review: the desk of whoever answers for a policy folder: its cases, what they cover, and what would change.

A decision is never made here: a real `Guard` over the loaded policy makes it, with a store in memory, a fixed clock, and tools that answer by
script. May import the core, policy and what a guard is put together from; nobody but the commands (and a host that asks) imports it.
"""
