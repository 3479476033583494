"""Review: the policy reviewer's desk: its cases, what they cover, what would change. Works on policies and what may become one; never on a running guard.

Where a call is tried out, a real `Guard` over the loaded policy decides, with a store in memory, a fixed clock, and tools that answer by script.
"""
