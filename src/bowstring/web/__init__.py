"""Local web applications: the viewer of runs and the pages for annotators.

Pages are rendered on the server, with little JavaScript, all of it in `static/`; nothing is loaded from other servers.
Access control is in one module, `guard`.
"""
