"""Pages of files, opened in a browser."""

import pytest


class Opened:
    """A page of a file, what it asked for, and what went wrong in it."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(300_000)  # a machine may be slow
        self.asked, self.errors = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")


@pytest.fixture
def opened(browser):
    contexts = []

    def open_page(path, **context):
        found = Opened(browser, path, **context)
        contexts.append(found.context)
        return found

    yield open_page
    for context in contexts:
        context.close()
