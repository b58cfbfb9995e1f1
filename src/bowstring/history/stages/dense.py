"""Dense search as a stage: each text is embedded once, and stored beside the response store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bowstring.history import Reader
from bowstring.history.stages.vectors import VectorStore, vector_key
from bowstring.history.units import text_of
from bowstring.models.embedder import Embedder, Vectors


class DenseSearch:
    """Ranks the units of readers by dense search."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self.embedder = embedder
        self._store = VectorStore(path)
        self._turn = asyncio.Lock()  # one user at a time: the embedder already uses all cores

    async def rank(self, reader: Reader, unit: str, queries: Sequence[str]) -> None:
        async with self._turn:
            wanted = [query for query in dict.fromkeys(queries) if not reader.has_order("dense", unit, query)]
            if wanted:
                await asyncio.to_thread(self._rank, reader, unit, wanted)

    def _rank(self, reader: Reader, unit: str, queries: Sequence[str]) -> None:
        texts = [text_of(reader.history, u) for u in reader.units(unit)]
        orders: list[list[int]] = [[] for _ in queries]
        if texts:
            scores = self._vectors(queries, queries=True) @ self._vectors(texts, queries=False).T
            orders = np.argsort(-scores, axis=1, kind="stable").tolist()
        for query, order in zip(queries, orders, strict=True):
            reader.set_order("dense", unit, query, order)

    def _vectors(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        kind = "query" if queries else "document"
        keys = [vector_key(self.embedder.identity, kind, text) for text in texts]
        known = self._store.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self.embedder.embed(list(missing.values()), queries=queries)
            new = dict(zip(missing, made, strict=True))
            self._store.put(new)
            known |= new
        return np.stack([known[key] for key in keys])
