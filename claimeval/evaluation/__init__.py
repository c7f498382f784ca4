"""The jobs: claims, ratings, grades, written queries, extraction and measures. Forecasts and
summaries of runs.

A job defines the requests and the scores of an item. How requests are answered (`execution`) and
where runs are stored (`runs`) is unknown here.
"""
