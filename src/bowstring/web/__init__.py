"""Pages served to a browser: runs to look at, answers to compare blind. With `cli`, the only room that serves.

Server-rendered, with little JavaScript, all of it in `static/`; nothing is fetched from anywhere else. What may come in
is decided in one place, `guard`.
"""
