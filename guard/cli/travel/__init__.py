"""The travel-expense assistant: the demo's conversation, its tools, its scripted model server and the attacks on it."""
