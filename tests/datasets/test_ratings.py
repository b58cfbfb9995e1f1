"""Rating files as people write them; errors name the place."""

import json

import pytest

from bowstring.datasets.ratings import item_id, read_ratings
from bowstring.errors import BowstringError
from bowstring.records import Rating


def read(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_ratings(path)


def ratings(found):
    return [rating for _, rating in found.rows]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "item,rater,label,cluster\n1,ann,win,u\n2,bob,tie,u\n"),
        ("bom.csv", b"\xef\xbb\xbfitem,rater,label,cluster\r\n1,ann,win,u\r\n2,bob,tie,u\r\n"),
        ("order.csv", "comment, label ,rater,item,cluster\nfine,win,ann,1,u\n,tie,bob,2,u\n"),
        ("semicolon.csv", "item;rater;label;cluster\n1;ann;win;u\n2;bob;tie;u\n"),
        ("tab.tsv", "item\trater\tlabel\tcluster\n1\tann\twin\tu\n\n2\tbob\ttie\tu\n"),
        ("quoted.csv", '"item","rater","label","cluster"\n"1","ann"," win ","u"\n2,bob,tie,u'),
        ("a.jsonl", '{"item": 1, "rater": "ann", "label": "win", "cluster": "u"}\n\n'
                    '{"item": "2", "rater": "bob", "label": "tie", "cluster": "u", "more": [1]}'),
        ("bom.jsonl", b'\xef\xbb\xbf{"item": 1.0, "rater": "ann", "label": "win", "cluster": "u"}\r\n'
                      b'{"item": 2, "rater": "bob", "label": "tie", "cluster": "u"}\r\n'),
    ],
)  # fmt: skip
def test_a_table_is_read_however_it_was_saved(tmp_path, name, content):
    found = read(tmp_path, name, content)
    assert ratings(found) == [Rating("1", "ann", "win", "u"), Rating("2", "bob", "tie", "u")]
    assert not found.left_out


def test_what_was_left_open_and_gold_checks_are_counted(tmp_path):
    rows = [
        {"item": "1", "rater": "ann", "label": None, "task": "rate"},
        {"item": "2", "rater": "ann", "label": "", "task": "rate"},
        {"item": "3", "rater": "bob", "label": "7", "task": "rate", "gold": True},
        {"item": "4", "rater": "bob", "label": 8.5, "task": "rate", "gold": False},
    ]
    found = read(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert ratings(found) == [Rating("4", "bob", "8.5", task="rate")]
    assert found.left_out == {("rate", "ann", "left open"): 2, ("rate", "bob", "gold check"): 1}
    table = read(tmp_path, "a.csv", "item,rater,label,gold\n1,ann,7,true\n2,ann,7,False\n3,ann\n")
    assert [r.item for r in ratings(table)] == ["2"]
    assert table.left_out == {("", "ann", "gold check"): 1, ("", "ann", "left open"): 1}


def test_an_export_says_how_personalized_it_was_found(tmp_path):
    line = {
        "item": "personal/0/1/ab",
        "rater": "ann",
        "label": "general",
        "task": "personal",
        "cluster": "0",
        "type": "persona",
        "seconds": 12.5,
        "gold": False,
        "criteria": {"personalization": 4, "validity": 2},
        "comment": "=1+1",
        "at": "2025-11-02T10:00:00+00:00",
    }
    expected = Rating("personal/0/1/ab", "ann", "general", "0", "personal", "persona", "4")
    assert ratings(read(tmp_path, "a.jsonl", json.dumps(line))) == [expected]
    table = 'item,rater,label,criteria\n1,ann,tie,"{""personalization"": ""more""}"\n2,ann,tie,\n'
    assert [r.personalization for r in ratings(read(tmp_path, "a.csv", table))] == ["more", None]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv line 1: no column item, rater or label; expected item, rater and label"),
        ("a.csv", "item,who,label\n1,ann,win\n", "a.csv line 1: no column rater; expected item, rater and label; it"),
        ("a.csv", "item,rater,label\n", "a.csv has no ratings; expected one row per rating"),
        ("a.csv", "item,rater,label\n1,ann,win\n,ann,win\n", "a.csv line 3: has no item"),
        ("a.csv", "item,rater,label\n1, ,win\n", "a.csv line 2: has no rater"),
        ("a.csv", "item,rater,label\n1,ann,win,4\n", "a.csv line 2: has more cells than the header has columns"),
        ("a.csv", 'item,rater,label\n1,"ann"x,win\n', "a.csv line 2: cannot be read as CSV"),
        ("a.csv", "item,rater,label\n1,andré,win\n".encode("latin-1"), "a.csv is not UTF-8 text: save it as UTF-8"),
        ("a.csv", "item,rater,label,criteria\n1,ann,win,{\n", "a.csv line 2: criteria are '{'; expected a JSON object"),
        ("a.jsonl", "", "a.jsonl has no ratings"),
        ("a.jsonl", '{"item": 1, "rater": "ann", "label": "win"}\n{"item"', "a.jsonl line 2: is not JSON"),
        ("a.jsonl", "[1, 2]", "a.jsonl line 1: is [1, 2]; expected an object with item, rater and label"),
        ("a.jsonl", '{"item": 1, "rater": "ann"}', "a.jsonl line 1: has no label"),
        ("a.jsonl", '{"item": 1, "rater": "ann", "label": [1]}', "a.jsonl line 1: label is [1]; expected text or a"),
        ("a.jsonl", '{"item": 1, "rater": "ann", "label": NaN}', "a.jsonl line 1: label is nan; expected text or a"),
        ("a.jsonl", '{"item": 1, "rater": {}, "label": "x"}', "a.jsonl line 1: rater is {}; expected text"),
        ("a.jsonl", '{"item": 1, "rater": "a", "label": "x", "criteria": [1]}', "criteria are [1]; expected an object"),
        ("a.xlsx", "PK", "a.xlsx: expected the folder of a run, or a file that ends in .csv, .tsv or .jsonl"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path, name, content, message):
    with pytest.raises(BowstringError) as raised:
        read(tmp_path, name, content)
    assert message in str(raised.value)
    assert raised.value.exit_code == 2


def test_an_item_is_the_very_texts_that_were_rated():
    one = item_id("compare", "0/1", ["What?", "Tea.", "Coffee."])
    assert one == item_id("compare", "0/1", ("What?", "Tea.", "Coffee."))
    assert one != item_id("compare", "0/1", ["What?", "Tea.", "Milk."])
    assert one.startswith("compare/0/1/")
    assert item_id("coverage", "p+changing", ["Short?", "Long."], "recall", "1").startswith(
        "coverage/p+changing/recall/1/"
    )
