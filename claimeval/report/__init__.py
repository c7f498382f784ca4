"""Reports: an HTML page, a Markdown summary, tables for spreadsheets, and a viewer of a directory
of runs.

Reports are made from run directories alone, without network, reply cache or judges.
"""
