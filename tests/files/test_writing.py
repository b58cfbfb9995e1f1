"""Files appear whole or not at all, and nothing is written through a link."""

from contextlib import suppress

import pytest

from bowstring.errors import UsageError
from bowstring.files.writing import check_folder, make_folder, make_parent, open_lock, replace_file, write_file


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "metrics.json"
    write_file(path, "old")
    with suppress(RuntimeError), replace_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    for durable in (False, True):
        with replace_file(path, durable=durable) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["metrics.json"], "no draft is left"


def test_what_no_file_can_hold_becomes_a_question_mark(tmp_path):
    write_file(tmp_path / "a", "\ud800 é")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "? é"


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path):
    target = tmp_path / "target"
    target.write_text("theirs")
    for name in ("metrics.json", ".metrics.json.draft"):
        (tmp_path / name).symlink_to(target)
    write_file(tmp_path / "metrics.json", "mine")
    assert not (tmp_path / "metrics.json").is_symlink()
    assert ((tmp_path / "metrics.json").read_text(), target.read_text()) == ("mine", "theirs")


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a symbolic link; Bowstring does not write through links: remove it"):
        open_lock(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(FileNotFoundError):
        open_lock(tmp_path / "missing" / "lock")


def test_a_folder_can_be_made_unless_a_file_is_in_its_place(tmp_path):
    file, deep = tmp_path / "file", tmp_path / "file" / "deep"
    file.write_text("")
    check_folder(tmp_path / "new" / "deep")
    for place, so in ((file, ""), (deep, f", so {deep} cannot be created")):
        with pytest.raises(UsageError) as error:
            make_folder(place)
        assert str(error.value) == f"{file} is not a folder{so}; choose another path"


def test_a_folder_the_user_names_may_be_a_link_and_what_is_inside_may_not(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    for _ in range(2):
        assert make_folder(tmp_path / "linked", "tables", "tex") == tmp_path / "linked" / "tables" / "tex"
    assert (tmp_path / "real" / "tables" / "tex").is_dir()
    (tmp_path / "real" / "figures").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="figures is a symbolic link"):
        make_folder(tmp_path / "real", "figures")


def test_a_file_gets_its_folder_and_a_folder_is_no_file(tmp_path):
    make_parent(tmp_path / "out" / "page.html")
    assert (tmp_path / "out").is_dir()
    with pytest.raises(UsageError, match="is a folder; expected a file to write"):
        make_parent(tmp_path / "out")
