"""Web: the guard over HTTP, for loops in other languages. Needs the extra `server`. May import anything; only the command line imports it."""
