"""A study whose server is killed, or ended by Ctrl-C."""

import signal

import pytest

from tests.support.annotating import READY, Annotating, AnnotatingProcess, answers, at, begin, enter, exported, press


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_server_that_is_ended_loses_nothing_and_comes_back_as_it_was(browser, asked, tmp_path, how):
    db = tmp_path / "study.sqlite"
    arguments = (asked["secret-alpha"], "--annotators", "anna,ben", "--limit", "6", "--overlap", "1", "--db", db)
    study = AnnotatingProcess(*arguments)
    page = enter(browser, study.links["anna"])
    begin(page)
    press(page, "a")
    press(page, "b")
    before = answers(page)
    study.stop(how)
    assert len(exported(db)) == 2
    with Annotating(*arguments, port=study.port) as again:
        assert again.links == study.links
        page.reload()
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "3 of 6"
        assert answers(page) == before
        press(page, "t")
        assert at(page) == "4 of 6"
    with Annotating("--db", db, port=study.port) as by_file_alone:
        assert by_file_alone.links == study.links
    assert len(exported(db)) == 3
