"""`--task choose`: the model chooses among given answers, and the choice is scored exactly, without a judge."""
