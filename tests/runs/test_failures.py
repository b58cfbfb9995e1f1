"""Whose fault a failure is: the model's, its provider's, or that of those who judge."""

from bowstring.runs.failures import commonest_failure, count_failures


def failed(stage, kind, reason="x"):
    return {"failure": {"stage": stage, "kind": kind, "reason": reason}}


def test_failures_are_counted_by_whose_they_are():
    records = [
        failed("answer", "context"),
        failed("answer", "code"),
        failed("answer", "timeout"),
        failed("judge", "code"),
        {"inference": failed("match", "server"), "generation": failed("judge", "server")},
        {"answer": "I cannot", "finish": "refusal"},
        {"answer": " \n", "finish": "stop"},
        {"inference": {"response": "", "finish": "stop"}, "generation": {"response": "text", "finish": "stop"}},
        {"answer": "fine", "finish": "length"},
    ]
    assert count_failures(records) == {
        "model": {"code": 1, "context": 1, "empty": 2, "refusal": 1},
        "provider": {"timeout": 1},
        "judge": {"code": 1, "server": 1},
    }


def test_a_record_with_the_same_failure_twice_counts_once():
    both = {"inference": failed("answer", "server", "down"), "generation": failed("answer", "server", "down")}
    assert commonest_failure([both, both, failed("answer", "server", "other")]) == ("down", 2)
