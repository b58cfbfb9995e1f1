"""CUPID (COLM 2025): which preference applies in a context, when it shows only in the feedback of earlier sessions?"""
