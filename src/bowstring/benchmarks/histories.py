"""The histories of a data set, as a page shows them."""

from __future__ import annotations

from bowstring.datasets.dataset import DataSet
from bowstring.reports.items import Histories, Told


def histories_of(data: DataSet) -> Histories:
    def history(key: str) -> list[Told]:
        return [
            Told(d.id, data.about_dialogue(key, d), [(message.role, message.text) for message in d.messages])
            for d in data.history_named(key)
        ]

    return history
