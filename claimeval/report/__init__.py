"""What a person reads after a run: one HTML file, a short Markdown summary, tables for spreadsheets, and a viewer.

`gathering` adds up what is said of a run as a whole, `page` writes the HTML file, `viewer` serves a folder of runs.
Everything is read from run directories: no network, no store, no judge.
"""
