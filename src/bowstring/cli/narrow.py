"""Tables for narrow terminals: names wrap and numbers are never cut; if that is not enough, one block per row."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_LEAST = 12  # width of a column of names that wrap


def fitted(shown: RenderableType, to: Console) -> RenderableType:
    """Return what to print in place of a table, which may be padded. Anything else is returned as it is."""
    table = shown.renderable if isinstance(shown, Padding) else shown
    around = shown.left + shown.right if isinstance(shown, Padding) else 0
    if not isinstance(table, Table) or not table.show_header or not table.columns:
        return shown
    if to.measure(shown, options=to.options.update(width=10_000)).maximum <= to.width:
        return shown
    if _fit_numbers(table, to, to.width - around):
        return shown
    return Text("\n").join(_blocks(table, to))


def _fit_numbers(table: Table, to: Console, width: int) -> bool:
    """Give the columns of numbers, which are flush right, the width they need, and let the others wrap. Return whether
    that is enough."""
    _, right, _, left = table.padding
    room = width - (left + right) * len(table.columns)
    for column in table.columns:
        texts = [_text(cell, to) for cell in column.cells]
        whole = max((line.cell_len for text in texts for line in text.split()), default=0)
        word = max((len(word) for text in texts for word in text.plain.split()), default=0)
        column.min_width = max(1, whole if column.justify == "right" else min(_LEAST, word))
        column.no_wrap, column.overflow = False, "fold"
        room -= column.min_width
    return room >= 0


def _blocks(table: Table, to: Console) -> Iterator[Text]:
    """One block per row: the first cell, and below it the others with their headings."""
    first, *others = table.columns
    heads = [_text(column.header, to).plain for column in others]
    width = max(map(len, heads), default=0)
    if title := _text(first.header, to).plain:
        yield Text(title, "dim")
    for name, *cells in zip(*(column.cells for column in (first, *others)), strict=True):
        yield _text(name, to)
        for head, cell in zip(heads, cells, strict=True):
            if text := _text(cell, to):
                yield Text.assemble("  ", (head.ljust(width), "dim"), "  " if width else "", text)
    if table.caption is not None:
        yield Text(str(table.caption), "dim")


def _text(cell: RenderableType, to: Console) -> Text:
    return cell if isinstance(cell, Text) else to.render_str(str(cell))
