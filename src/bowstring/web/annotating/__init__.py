"""Blind human evaluation: what is put to people, who gets what in which order, the pages, and what comes out.

    units     runs -> what one page asks
    dealing   who gets which, in which order, and what stands on which side
    planning  the whole of it, with gold checks of what somebody is not asked
    study     all of that in one SQLite file, with what people said
    pages     the annotators' pages
    results   ratings with their sources again; how far everybody is

Nothing here knows what a good answer is. Curating a data set is a study too: its units are the items of the set.
"""
