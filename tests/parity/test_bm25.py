"""BM25 scores equal those of rank_bm25's BM25Okapi on the same tokens, bit by bit."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from bowstring.benchmarks.loading import load_hicupid
from bowstring.history.bm25 import Bm25

tokens = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12)


@given(st.lists(tokens, min_size=1, max_size=12), tokens)
@settings(max_examples=200)
def test_scores_equal_on_any_documents(documents, query):
    reference = BM25Okapi(documents).get_scores(query)
    assert Bm25(documents).scores(query).tolist() == reference.tolist()


def test_scores_equal_on_real_histories():
    data = load_hicupid("mini")
    for user in data.user_ids:
        documents = [" ".join(m.text for m in d.messages).split() for d in data.history(user)]
        reference, ours = BM25Okapi(documents), Bm25(documents)
        for question in (q for q in data.questions() if q.user_id == user):
            query = question.question.split()
            assert ours.scores(query).tolist() == reference.get_scores(query).tolist()


def test_the_best_come_first_and_of_equals_the_earlier():
    index = Bm25([["x"], ["a", "x"], ["b"], ["a", "a", "c"], ["d"]])
    assert index.order(["a"]) == [3, 1, 0, 2, 4]
    assert index.order(["nothing"]) == [0, 1, 2, 3, 4]
    assert Bm25([]).order(["a"]) == []
