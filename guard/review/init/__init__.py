"""Init: the tools that somebody has, written as a policy folder that refuses everything until a person has read it.

    read        text → a JSON value
    lists       a tool list of any provider → tools found
    openapi     an OpenAPI document → tools found
    kinds       a tool found → read, compute or action, and why
    draft       a tool found → the entry that is written, with each guess and why it was made
    text        drafts → the text of the YAML files

Nothing here opens a file, a connection or a program, and nothing trusts what it reads: a description may hold anything. Whatever is guessed
says so on its line, and no entry allows anybody anything.
"""

from __future__ import annotations

from guard.review.init.draft import Draft, Guess, drafts
from guard.review.init.found import Found, LeftOut, SourceError, Sources
from guard.review.init.read import MAX_BYTES, read_text
from guard.review.init.sources import found_in
from guard.review.init.text import policy_files

__all__ = [
    "MAX_BYTES",
    "Draft",
    "Found",
    "Guess",
    "LeftOut",
    "SourceError",
    "Sources",
    "drafts",
    "found_in",
    "policy_files",
    "read_text",
]
