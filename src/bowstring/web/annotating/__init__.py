"""Blind human evaluation: units, their assignment to annotators, the pages, and the results.

    units     runs -> units; a unit is the content of one page
    dealing   random assignment of units to annotators, their order, and the sides of answers
    planning  the complete assignment, with gold checks from items that an annotator does not rate
    study     the plan and the annotations in one SQLite file
    pages     the pages for annotators
    results   ratings with their sources; progress of annotators

Curating a data set is also a study: its units are the items of the set.
"""
