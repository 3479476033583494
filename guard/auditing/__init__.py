"""Auditing: what an auditor asks of the records: searches, the life of one call, a month on one page. Only reads.

Comes after the stores; used by the command line and the pages of the server, which show what is made here. Knows no policy and runs nothing.
"""
